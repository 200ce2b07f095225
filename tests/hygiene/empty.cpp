// Includes nothing: the header under test comes from the command line (-include), so it comes first and alone.
