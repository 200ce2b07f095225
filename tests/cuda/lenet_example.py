"""lenet_example.py PROGRAM device|emulated: examples/lenet.cpp, compiled by nvcc, on a few images: what --device cpu, cuda and auto
do on this machine and, under the emulator, on machines without a driver, with too little memory, with a GPU of another kind."""
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

TRAINING, TEST, SIDE = 23, 10, 28  # the last batch of 4 has 3 images, the last of the test 2


def write_images(folder: Path, name: str, count: int, seed: int):
    """Noisy bars whose place is their class: IDX files as of MNIST."""
    draw = random.Random(seed)
    labels = [draw.randrange(10) for _ in range(count)]
    pixels = bytes(
        draw.randrange(40) + (200 if 2 * label <= column < 2 * label + 6 else 0)
        for label in labels
        for _ in range(SIDE)
        for column in range(SIDE)
    )
    (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">4i", 2051, count, SIDE, SIDE) + pixels)
    (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">2i", 2049, count) + bytes(labels))


class Run:
    def __init__(self, program: str, data: Path, device: str, **settings: str):
        self.what = f"--device {device} {settings}"
        result = subprocess.run(
            [program, "--data", data, "--device", device, "--epochs", "3", "--lr", "0.02"],
            env=os.environ | settings, capture_output=True, text=True, timeout=500,
        )
        self.status, self.output, self.errors = result.returncode, result.stdout, result.stderr

    def require(self, condition: bool, what: str):
        if not condition:
            sys.exit(f"{self.what}: {what}\nexit status {self.status}\n{self.output}{self.errors}")

    def finds(self, pattern: str):
        found = re.search(pattern, self.output)
        self.require(found is not None, f"expected '{pattern}'")
        return found

    def trained(self, on_gpu: bool) -> str:
        """The accuracy that it found."""
        self.require(self.status == 0, "it failed")
        self.require(("Training on device 0\n" in self.output) == on_gpu, "it trained elsewhere" if on_gpu else "it trained on the GPU")
        self.finds("Finished Training")
        return self.finds(rf"network on the {TEST} test images: (\S+) %")[1]

    def fell_back(self, reason: str) -> str:
        """To the CPU, with one line that says why."""
        accuracy = self.trained(on_gpu=False)
        self.finds(f"^Training on the CPU: [^\n]*{reason}[^\n]*\nFinished Training\n")
        return accuracy

    def refused(self, reason: str):
        self.require(self.status == 1, "it did not fail")
        self.require(re.search(reason, self.errors) is not None, f"expected '{reason}'")
        self.require("Finished" not in self.output, "it trained all the same")


def main() -> int:
    program, where = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        write_images(data, "train", TRAINING, 1)
        write_images(data, "t10k", TEST, 2)

        def run(device: str, **settings: str) -> Run:
            return Run(program, data, device, **settings)

        accuracy = run("cpu").trained(on_gpu=False)
        run("auto", CUDA_VISIBLE_DEVICES="").fell_back("no GPU that this process may use")
        run("cuda", CUDA_VISIBLE_DEVICES="").refused("no GPU that this process may use")
        found = {"cuda": run("cuda").trained(on_gpu=True), "auto": run("auto").trained(on_gpu=True)}
        if where == "emulated":
            machines = {  # 4.5 MB are needed
                "no NVIDIA driver": {"EMU_DRIVER": "none"},
                "supports 12.4": {"EMU_DRIVER": "12040"},
                "holds no code for this GPU": {"EMU_ARCH": "75"},
                "the plan needs [0-9]{7} bytes; of device 0's [0-9]+ bytes [0-9]+ are free": {"EMU_MEMORY": "3M"},
            }
            for reason, settings in machines.items():
                found[reason] = run("auto", **settings).fell_back(reason)
                run("cuda", **settings).refused(reason)
        for what, percent in found.items():
            if percent != accuracy:
                sys.exit(f"{what}: accuracy {percent} %, on the CPU {accuracy} %")
    return 0


sys.exit(main())
