// What training prints: epochs, evaluations, the table of the plan; the progress line that keeps quiet in a pipe.
#include "support/lenet.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

#include <tenon/optim/sgd.hpp>
#include <tenon/train/explain.hpp>
#include <tenon/train/print.hpp>
#include <tenon/train/progress.hpp>
#include <tenon/train/trainer.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <sstream>
#include <string>

using namespace tenon;
using test::lines_with;

namespace {

using Net = Network<Input{1, 6, 6}, Named<"stem", Conv2d{.out = 2, .kernel = 3}>, ReLU{}, MaxPool2d{.kernel = 2}, Flatten{}, Linear{.out = 3}>;

} // namespace

TEST_CASE("epochs and evaluations are printed as one line's parts") {
    std::ostringstream out;
    Epoch epoch;
    epoch.number = 1;
    epoch.of = 2;
    epoch.loss = 0.54321;
    epoch.samples = 60000;
    epoch.seconds = 4.209;
    Evaluation evaluation;
    evaluation.loss = 0.34562;
    evaluation.samples = evaluation.counted = 10000;
    evaluation.correct = 8765;
    out << epoch << evaluation;
    CHECK(out.str() == "epoch 1/2  loss 0.5432  60000 samples in 4.21 s  test loss 0.3456  accuracy 87.65 % of 10000");
    out.str("");
    evaluation.counted = 0;
    out << evaluation;
    CHECK(out.str() == "test loss 0.3456 of 10000");
}

TEST_CASE("explain() lists every stage with its layer, and the sums") {
    Trainer trainer{Net{}, CrossEntropy{}, SGD{.lr = 0.1f}, batch<4>, Options{.threads = 1, .measure_stages = true}};
    auto const inputs = test::random_numbers(4 * 36, 1);
    auto const labels = test::random_labels(4, 3, 2);
    std::string const before = explain(trainer);
    CAPTURE(before);
    CHECK(lines_with(before, "conv2d + ") == 1);
    CHECK(lines_with(before, "max_pool2d_gradient") == 1);
    CHECK(lines_with(before, "conv2d_weight_gradient") == 1);
    CHECK(lines_with(before, "conv2d_input_gradient") == 0);
    CHECK(lines_with(before, "cross_entropy") == 1);
    CHECK(lines_with(before, "total") == 1);
    CHECK(lines_with(before, "arena") == 1);
    CHECK(trainer.stage_seconds(0) == 0);
    for (int step = 0; step < 3; ++step) (void)trainer.step(inputs.data(), labels.data(), 4);
    CHECK(trainer.stage_seconds(0) > 0);
    CHECK(explain(trainer) != before); // now with the time that was taken
}

TEST_CASE("a progress line writes nothing where there is no terminal") {
    std::FILE* const file = std::tmpfile();
    REQUIRE(file != nullptr);
    {
        ProgressLine progress{1000, file};
        for (int i = 0; i < 1000; ++i) progress.advance(1);
        progress.clear();
    }
    CHECK(std::ftell(file) == 0);
    std::fclose(file);
}
