//! Files of other tools, imported and run on the command line.

mod promptfoo;
