import {
  mayBeJson,
  parseJson,
  parseJsonAsYamlInSteps,
  parseJsonInSteps,
  type ParsedYaml,
  parseYamlStrict,
  statusErrors,
  YamlSyntaxError,
} from '@multiplane/apimachinery';
import type { Clock, Runnable } from '@multiplane/component-base';
import { JobThread, JobThreadError } from '../threads/job-thread.ts';
import { inSteps } from '../registry/give-way.ts';
import { inlineYamlReader, type YamlDocument, type YamlReader } from './yaml-reader.ts';
import type { YamlAnswer } from './yaml-thread.ts';

/** Texts up to here are read at once: at a megabyte per second that holds the loop for some 15 ms. */
const inlineBytes = 16 * 1024;
/** The longest body takes some 3 s. What needs longer was made to. */
const deadlineMs = 15_000;
/** Bodies that may wait; they are held in memory. */
const maxWaiting = 64;
const heapMiB = 512;

/**
 * Keeps long YAML texts from holding the event loop: they are converted to JSON in a thread. JSON, which most "YAML" is,
 * and short texts are read where they are.
 */
export class YamlWorker implements YamlReader, Runnable {
  readonly name = 'yaml worker';
  readonly #thread: JobThread<Buffer, YamlAnswer>;

  constructor(_options: Record<string, never>, modules: { readonly clock: Clock }) {
    const options = {
      name: this.name,
      module: './yaml-thread',
      from: import.meta.url,
      deadlineMs,
      maxWaiting,
      heapMiB,
    };
    this.#thread = new JobThread(options, modules);
  }

  start(): Promise<void> {
    return this.#thread.start();
  }

  stop(): Promise<void> {
    return this.#thread.stop();
  }

  /** Throws 429 when too many bodies wait, 503 when the server stops. */
  async read(body: Buffer): Promise<YamlDocument> {
    if (body.length <= inlineBytes) return inlineYamlReader.read(body);
    const text = body.toString('utf8');
    const json = mayBeJson(text) ? await inSteps(parseJsonAsYamlInSteps(text), body.length) : undefined;
    if (json !== undefined) return readOnce(json, () => parseYamlStrict(body));
    try {
      return await documentIn(await this.#thread.run(body));
    } catch (error) {
      if (!(error instanceof JobThreadError)) throw error;
      switch (error.failure) {
        case 'busy':
          throw statusErrors.tooManyRequests('too many long YAML bodies wait: send JSON, or retry', 1);
        case 'stopped':
          throw statusErrors.serviceUnavailable('the server is shutting down');
        case 'slow':
          return faulty('yaml: document takes too long to read');
        case 'memory':
          return faulty('yaml: document takes too much memory to read');
      }
    }
  }
}

async function documentIn(answer: YamlAnswer): Promise<YamlDocument> {
  if ('fault' in answer) return faulty(answer.fault);
  const { json, duplicates } = answer;
  const { value } = await inSteps(parseJsonInSteps(json, false), json.length);
  return readOnce({ value, duplicates: [...duplicates] }, () => ({
    value: parseJson(json),
    duplicates: [...duplicates],
  }));
}

const faulty =
  (why: string): YamlDocument =>
  () => {
    throw new YamlSyntaxError(why);
  };

/** What was read already, the first time. */
function readOnce(parsed: ParsedYaml, again: YamlDocument): YamlDocument {
  let first: ParsedYaml | undefined = parsed;
  return () => {
    const value = first ?? again();
    first = undefined;
    return value;
  };
}
