import { Worker } from 'node:worker_threads';
import { parseJson, parseJsonAsYaml, parseYamlStrict, statusErrors, YamlSyntaxError } from '@multiplane/apimachinery';
import type { Clock, Runnable, Timer } from '@multiplane/component-base';
import { inlineYamlReader, type YamlDocument, type YamlReader } from './yaml-reader.ts';
import type { YamlAnswer } from './yaml-thread.ts';

/** Texts up to here are read at once: at a megabyte per second that holds the loop for some 15 ms. */
const inlineBytes = 16 * 1024;
/** The longest body takes some 3 s. What needs longer was made to. */
const deadlineMs = 15_000;
/** A thread costs some 10 MB, and few clients send YAML: it goes when none came for this long. */
const idleMs = 30_000;
/** Bodies that may wait; they are held in memory. */
const maxWaiting = 64;
/** Of a thread's heap, in MiB. A text that needs more is refused, and the thread replaced. */
const heapMiB = 512;

interface Job {
  readonly body: Buffer;
  readonly resolve: (document: YamlDocument) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Keeps long YAML texts from holding the event loop. They are converted to JSON one after the other in a thread, which
 * starts with the first and ends when idle; JSON, which most "YAML" is, and short texts are read where they are. A
 * thread that dies or exceeds the deadline takes its text with it and nothing else: the next text gets a new one.
 */
export class YamlWorker implements YamlReader, Runnable {
  readonly name = 'yaml worker';
  readonly #clock: Clock;
  readonly #waiting: Job[] = [];
  #current: Job | undefined;
  #thread: Worker | undefined;
  /** Of the current text, or of idleness. */
  #timer: Timer | undefined;

  constructor(_options: Record<string, never>, modules: { readonly clock: Clock }) {
    this.#clock = modules.clock;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    const error = statusErrors.serviceUnavailable('the server is shutting down');
    const jobs = this.#waiting.splice(0);
    if (this.#current !== undefined) jobs.push(this.#current);
    this.#current = undefined;
    for (const job of jobs) job.reject(error);
    await this.#endThread();
  }

  /** Throws 429 when too many bodies wait. */
  read(body: Buffer): Promise<YamlDocument> {
    if (body.length <= inlineBytes) return inlineYamlReader.read(body);
    let json = parseJsonAsYaml(body.toString('utf8'));
    if (json !== undefined)
      return Promise.resolve(() => {
        const value = json ?? parseYamlStrict(body);
        json = undefined;
        return value;
      });
    if (this.#waiting.length >= maxWaiting)
      return Promise.reject(statusErrors.tooManyRequests('too many long YAML bodies wait: send JSON, or retry', 1));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ body, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    if (this.#current !== undefined) return;
    this.#timer?.cancel();
    this.#current = this.#waiting.shift();
    if (this.#current === undefined) {
      this.#timer = this.#clock.after(idleMs, () => void this.#endThread());
      return;
    }
    this.#thread ??= this.#startThread();
    this.#thread.postMessage(this.#current.body);
    this.#timer = this.#clock.after(deadlineMs, () => {
      void this.#endThread();
      this.#finish({ fault: 'yaml: document takes too long to read' });
    });
  }

  #startThread(): Worker {
    const ownUrl = import.meta.url;
    const fromSource = ownUrl.endsWith('.ts');
    const thread = new Worker(new URL(fromSource ? './yaml-thread.ts' : './yaml-thread.js', ownUrl), {
      name: this.name,
      resourceLimits: { maxOldGenerationSizeMb: heapMiB },
      execArgv: fromSource ? ['--conditions=multiplane-source', '--disable-warning=ExperimentalWarning'] : [],
      env: {},
    });
    // It must not keep a process alive that has nothing else to do.
    thread.unref();
    thread.on('message', (answer: YamlAnswer) => {
      if (this.#thread === thread) this.#finish(answer);
    });
    thread.on('error', (error: Error) => {
      if (this.#thread !== thread) return;
      this.#thread = undefined;
      this.#finish(
        'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
          ? { fault: 'yaml: document takes too much memory to read' }
          : error,
      );
    });
    return thread;
  }

  #finish(answer: YamlAnswer | Error): void {
    const job = this.#current;
    this.#current = undefined;
    if (answer instanceof Error) job?.reject(answer);
    else job?.resolve(documentOf(answer));
    this.#next();
  }

  async #endThread(): Promise<void> {
    this.#timer?.cancel();
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.terminate();
  }
}

function documentOf(answer: YamlAnswer): YamlDocument {
  if ('fault' in answer)
    return () => {
      throw new YamlSyntaxError(answer.fault);
    };
  return () => ({ value: parseJson(answer.json), duplicates: [...answer.duplicates] });
}
