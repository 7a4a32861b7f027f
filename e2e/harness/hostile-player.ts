import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { mapConcurrently } from '@multiplane/apimachinery';
import { eventually } from '@multiplane/testing';
import type { HostileBulk, HostileStep } from '../fixtures/hostile-steps.ts';
import { webhookAuthority, webhookUrl } from '../fixtures/hostile-webhooks.ts';
import type { HostileServer } from './hostile-server.ts';
import type { SentRequest } from './requests.ts';

const multiplane = join(import.meta.dirname, '..', '..', 'bin', 'multiplane');
const concurrency = 32;
/** Background work, such as the deletion of 10,000 objects, on a busy machine. */
const patience = { timeout: 240_000 };

/** Plays the steps of an attack; `played` is called after each, with a name for the turns since the last call. */
export class HostilePlayer {
  readonly #server: HostileServer;
  readonly #limitMs: number;
  /** Answers that no input may cause. */
  readonly failures: string[] = [];

  constructor(options: { readonly limitMs: number }, modules: { readonly server: HostileServer }) {
    this.#limitMs = options.limitMs;
    this.#server = modules.server;
  }

  async play({ what, steps }: HostileBulk, played: (of: string) => void): Promise<void> {
    for (const step of steps) {
      const name = `${what}: ${nameOf(step)}`;
      try {
        const answers = await this.#server.whileServing(() => this.#step(step, name), this.#limitMs);
        played(`${name} answered ${answers}`);
      } catch (error) {
        this.failures.push(`${name}: ${(error as Error).message.slice(0, 500)}`);
        played(name);
      }
    }
  }

  async #step(step: HostileStep, name: string): Promise<string> {
    if ('together' in step) return this.#sendAll(step, name);
    if ('forwarded' in step)
      return this.#sendAll({ together: [step.forwarded] }, name, await this.#server.virtualWorkspace());
    if ('watches' in step) {
      const { meanwhile } = step;
      const watching = step.watches.map((request) => this.#watch(request, meanwhile !== undefined));
      for (const request of meanwhile ?? []) await this.#sendAll({ together: [request] }, name);
      return String(await Promise.all(watching));
    }
    if ('gone' in step) {
      await eventually(async () => {
        const { status, json } = await this.#server.workspace.send({
          path: `${step.gone}${step.gone.includes('?') ? '&' : '?'}limit=1`,
        });
        const { items } = json as { items?: readonly unknown[] };
        if (status !== 200 || items?.length !== 0) throw new Error(`${status}: ${items?.length} objects`);
      }, patience);
      return 'empty';
    }
    return this.#restore();
  }

  async #sendAll(
    { together, owner }: Extract<HostileStep, { readonly together: unknown }>,
    name: string,
    to = this.#server.workspace,
  ): Promise<string> {
    const references = owner === undefined ? {} : { ownerReferences: [await this.#referenceTo(owner)] };
    const statuses = new Set<number | undefined>();
    await mapConcurrently(together, concurrency, async (request) => {
      const body = request.body as { readonly metadata?: object } | undefined;
      const sent =
        owner === undefined
          ? request
          : { ...request, body: { ...body, metadata: { ...body?.metadata, ...references } } };
      // A body that is too large may be cut off.
      const response = await to.send(this.#withWebhook(sent)).catch(() => undefined);
      if (response?.text.includes('caused apiserver to panic') === true)
        this.failures.push(`${name}: ${response.text.slice(0, 300)}`);
      statuses.add(response?.status);
    });
    return String([...statuses]);
  }

  /** The request with the address and the authority of the webhook. */
  #withWebhook(request: SentRequest): SentRequest {
    const { webhook } = this.#server;
    const text = request.body === undefined || request.protobuf === true ? undefined : JSON.stringify(request.body);
    if (text?.includes(webhookUrl) !== true) return request;
    const { body: _body, ...rest } = request;
    return { ...rest, text: text.replaceAll(webhookUrl, webhook.url).replaceAll(webhookAuthority, webhook.caBundle) };
  }

  async #referenceTo(path: string): Promise<object> {
    const { json } = await this.#server.workspace.must({ path });
    const { apiVersion, kind, metadata } = json as {
      apiVersion: string;
      kind: string;
      metadata: { name: string; uid: string };
    };
    return { apiVersion, kind, name: metadata.name, uid: metadata.uid, blockOwnerDeletion: true };
  }

  /** Reads the initial events; a watch in protobuf or of another form ends by its own. */
  async #watch({ path, as, headers = {} }: SentRequest, untilEnd: boolean): Promise<number> {
    const watch = await this.#server.workspace.watch(path, as, headers);
    // Of the others many megabytes would be searched for lines at each attempt.
    const hasLines = String(headers['accept'] ?? 'application/json').startsWith('application/json');
    try {
      await eventually((): void => {
        const isComplete = watch.ended || (!untilEnd && hasLines && watch.events.at(-1)?.['type'] === 'BOOKMARK');
        if (!isComplete) throw new Error('no bookmark yet');
      }, patience);
    } finally {
      watch.close();
    }
    return watch.status;
  }

  async #restore(): Promise<string> {
    const file = this.#server.cluster.path('bulk.snapshot');
    const of = ['--workspace', this.#server.path, '--kubeconfig', this.#server.cluster.kubeconfig];
    await promisify(execFile)(multiplane, ['snapshot', 'save', file, ...of]);
    await promisify(execFile)(multiplane, ['snapshot', 'restore', file, ...of, '--as', 'restored']);
    const workspaces = '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces';
    await this.#server.requests.must({ method: 'DELETE', path: `${workspaces}/restored` });
    await eventually(async () => {
      const { status } = await this.#server.requests.send({ path: `${workspaces}/restored` });
      if (status !== 404) throw new Error(`the restored workspace is still there: ${status}`);
    }, patience);
    return 'restored';
  }
}

function nameOf(step: HostileStep): string {
  if ('gone' in step) return `until ${step.gone} is empty`;
  if ('restore' in step) return 'restore';
  const requests = 'together' in step ? step.together : 'watches' in step ? step.watches : [step.forwarded];
  const { method = 'GET', path = '', headers = {} } = requests[0] ?? {};
  const accept = headers['accept'] ?? '';
  return `${requests.length} × ${'watches' in step ? 'watch' : method} ${path.slice(0, 150)} ${String(accept)}`;
}
