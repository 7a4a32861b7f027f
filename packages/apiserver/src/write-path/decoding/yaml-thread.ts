import { serveJobs } from '../../threads/serve-jobs.ts';
import { encodeJson, parseYamlStrict, YamlSyntaxError } from '@multiplane/apimachinery';

/** The result of the thread of a {@link YamlWorker} for one text: lossless JSON, or a syntax error. */
export type YamlAnswer = { readonly json: string; readonly duplicates: readonly string[] } | { readonly fault: string };

serveJobs((body: Uint8Array): YamlAnswer => answer(Buffer.from(body)));

function answer(body: Buffer): YamlAnswer {
  try {
    const { value, duplicates } = parseYamlStrict(body);
    return { json: encodeJson(value), duplicates };
  } catch (error) {
    // Any other error is a bug: it ends the thread and fails this job.
    if (error instanceof YamlSyntaxError) return { fault: error.message };
    throw error;
  }
}
