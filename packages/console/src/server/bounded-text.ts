import type { IncomingMessage } from 'node:http';
import { statusErrors } from '@multiplane/apimachinery';

/** The body of a request as text. Rejects with a StatusError 413 when it is larger than `limit` bytes. */
export async function boundedText(request: IncomingMessage, limit: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > limit) throw statusErrors.tooLarge(`limit is ${limit}`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
