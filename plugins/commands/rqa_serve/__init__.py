"""`rqa serve` answers over HTTP, in the format of OpenAI's chat completions."""
