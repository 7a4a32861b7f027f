/** A watch frame larger than any object of the server can be; the stream is then not one of events. */
const maxLineLength = 32 * 1024 * 1024;

/** The lines of a chunked body, as they arrive. A last line without a line feed is cut off and left out. */
export async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      let text = decoder.decode(value, { stream: true });
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
        parts.push(text.slice(0, end));
        const line = parts.join('');
        parts.length = 0;
        length = 0;
        text = text.slice(end + 1);
        if (line !== '') yield line;
      }
      parts.push(text);
      length += text.length;
      if (length > maxLineLength) throw new Error('a line of the watch is too long');
    }
  } finally {
    // Ends the request when the reader of the lines stops early.
    await reader.cancel().catch(() => undefined);
  }
}
