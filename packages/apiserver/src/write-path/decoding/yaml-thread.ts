import { parentPort } from 'node:worker_threads';
import { encodeJson, parseYamlStrict, YamlSyntaxError } from '@multiplane/apimachinery';

/** What the thread of a {@link YamlWorker} makes of one text: JSON, which loses nothing on its way, or a fault. */
export type YamlAnswer = { readonly json: string; readonly duplicates: readonly string[] } | { readonly fault: string };

parentPort?.on('message', (body: Uint8Array) => parentPort?.postMessage(answer(Buffer.from(body))));

function answer(body: Buffer): YamlAnswer {
  try {
    const { value, duplicates } = parseYamlStrict(body);
    return { json: encodeJson(value), duplicates };
  } catch (error) {
    // Anything else is a fault of ours: it ends the thread, and with it this text.
    if (error instanceof YamlSyntaxError) return { fault: error.message };
    throw error;
  }
}
