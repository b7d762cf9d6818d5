//! Templates, paths, tokens, chunks and the JSON ladder: text in, text out
