"""Where and in what two runs differ: settings, program, traces, output files, clocks."""
