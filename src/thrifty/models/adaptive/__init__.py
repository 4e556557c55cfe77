"""The flagship: boosted trees on masked rows, with purchases and stopping decided row by row."""
