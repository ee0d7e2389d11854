"""Reading command lines without running them: shell text to words, words to what a command would publish."""
