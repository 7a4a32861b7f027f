import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { apiExport, apiResourceSchema, eventually, ProcessInfo, TempDir } from '@multiplane/testing';
import { gadgetDefinition } from '../fixtures/gadgets.ts';
import { LocalCluster, testTokens, type LongTurn } from './local-cluster.ts';
import { Requests } from './requests.ts';
import { hostileAnswer } from '../fixtures/hostile-webhooks.ts';
import { createWorkspace, grantAccess } from './workspaces.ts';
import { WebhookServer, webhooksHere } from './webhook-server.ts';

/** Upper bound of the delay of a plain GET on a server under attack. */
const promptMs = 1_000;

const neighbourPath = '/api/v1/namespaces/e2e';

/** Requests and responses in the namespace `audited` are written in full. */
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: RequestResponse
  namespaces: [audited]
- level: None
`;

/** A server with one workspace for tests that mistreat it, and a look at how it fares. */
export class HostileServer implements AsyncDisposable {
  readonly cluster: LocalCluster;
  /** Requests below the workspace. */
  readonly workspace: Requests;
  /** Requests with whole paths. */
  readonly requests: Requests;
  readonly path = 'root:hostile';
  readonly #pid: number;
  readonly #info = new ProcessInfo();
  /** Sends the neighbour's requests during attacks. */
  readonly #neighbour: Worker;
  readonly #folder: TempDir;
  /** Answers reviews of admission and conversion by {@link hostileAnswer}. */
  readonly webhook: WebhookServer;
  #virtual: Promise<Requests> | undefined;
  /** The longest that a plain GET has waited so far, in milliseconds of the server's processor time. */
  longestWaitMs = 0;

  private constructor(cluster: LocalCluster, folder: TempDir, webhook: WebhookServer) {
    this.cluster = cluster;
    this.webhook = webhook;
    this.#folder = folder;
    this.workspace = new Requests(cluster, `/clusters/${this.path}`);
    this.requests = new Requests(cluster);
    this.#pid = cluster.process.pid as number;
    // Skips suites where the system does not tell it.
    this.#workMs();
    this.#neighbour = new Worker(new URL('neighbour.mjs', import.meta.url), {
      workerData: {
        url: `${cluster.url}/clusters/${this.path}${neighbourPath}`,
        ca: cluster.ca,
        token: testTokens.masters,
        pid: this.#pid,
      },
      execArgv: [],
    });
  }

  /** With the namespace `e2e`, the definition of gadgets, and `user-1` and `user-2` who may enter and do nothing. */
  static async start(): Promise<HostileServer> {
    const folder = await TempDir.create('hostile');
    writeFileSync(folder.join('audit.yaml'), auditPolicy);
    const flags = [
      ...webhooksHere,
      '--audit-policy-file',
      folder.join('audit.yaml'),
      '--audit-log-path',
      folder.join('audit.log'),
    ];
    const cluster = await LocalCluster.start({ recordsTurns: true, flags });
    const admin = cluster.transport('shard-base');
    await createWorkspace(admin, 'root', 'hostile');
    await grantAccess(admin, 'root:hostile', ['user-1', 'user-2']);
    admin.close();
    const server = new HostileServer(cluster, folder, await WebhookServer.start('hostile', hostileAnswer));
    await server.workspace.must({
      method: 'POST',
      path: '/api/v1/namespaces',
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'e2e' } },
    });
    await server.workspace.must({
      method: 'POST',
      path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      body: gadgetDefinition,
    });
    await eventually(() => server.workspace.must({ path: '/apis/e2e.example.com/v1/gadgets' }));
    // Those of the start.
    cluster.takeTurns();
    return server;
  }

  /** Requests in the workspace through the virtual workspace of an export, which claims its config maps. */
  virtualWorkspace(): Promise<Requests> {
    return (this.#virtual ??= this.#exportConfigMaps());
  }

  async #exportConfigMaps(): Promise<Requests> {
    const apis = '/apis/apis.kcp.io';
    const claim = { group: '', resource: 'configmaps', verbs: ['*'] };
    const write = (path: string, body: unknown): Promise<unknown> =>
      this.workspace.must({ method: 'POST', path: `${apis}/${path}`, body });
    await write('v1alpha1/apiresourceschemas', apiResourceSchema({ plural: 'widgets' }));
    await write('v1alpha2/apiexports', apiExport('hostile', ['v1.widgets.example.dev'], { permissionClaims: [claim] }));
    const binding = {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIBinding',
      metadata: { name: 'hostile' },
      spec: {
        reference: { export: { path: this.path, name: 'hostile' } },
        permissionClaims: [{ ...claim, selector: { matchLabels: { claimed: 'yes' } }, state: 'Accepted' }],
      },
    };
    await eventually(() => write('v1alpha2/apibindings', binding));
    const { json } = await this.workspace.must({ path: neighbourPath });
    const { annotations } = json['metadata'] as { readonly annotations: Readonly<Record<string, string>> };
    const name = annotations['kcp.io/cluster'] ?? '';
    const requests = new Requests(this.cluster, `/services/apiexport/${name}/hostile/clusters/${name}`);
    await eventually(() => requests.must({ path: `${neighbourPath}/configmaps` }), { timeout: 60_000 });
    return requests;
  }

  /** Throws unless the same process still answers, and at once, however slow the machine is. */
  async mustBeWell(limitMs = promptMs): Promise<void> {
    const before = this.#workMs();
    await this.workspace.must({ path: neighbourPath });
    const waitedMs = this.#workMs() - before;
    this.longestWaitMs = Math.max(this.longestWaitMs, waitedMs);
    if (waitedMs > limitMs) throw new Error(`a GET waited for ${waitedMs} ms of work`);
    if (this.cluster.process.pid !== this.#pid) throw new Error('the server died');
  }

  /** Processor time of the thread that answers requests: other programs take none of it. */
  #workMs(): number {
    return this.#info.mainThreadMs(this.#pid);
  }

  /** The longest turn of the server's event loop since the last call, garbage collection not counted; undefined below 20 ms. */
  takeLongestTurn(): LongTurn | undefined {
    return this.cluster.takeTurns().toSorted((a, b) => b.ms - b.gcMs - (a.ms - a.gcMs))[0];
  }

  /** Runs an attack; throws when meanwhile a neighbour had to wait for a plain GET longer than `limitMs` of processor time. */
  async whileServing<T>(attack: () => Promise<T>, limitMs = promptMs): Promise<T> {
    // From the start: a request that fails is reported at once.
    const report = once(this.#neighbour, 'message');
    report.catch(() => undefined);
    this.#neighbour.postMessage('start');
    let result: T;
    let served: { readonly longestMs: number; readonly error?: string };
    try {
      result = await attack();
    } finally {
      this.#neighbour.postMessage('stop');
      [served] = (await report) as [typeof served];
    }
    this.longestWaitMs = Math.max(this.longestWaitMs, served.longestMs);
    if (served.error !== undefined) throw new Error(served.error);
    if (served.longestMs > limitMs) throw new Error(`a GET waited for ${served.longestMs} ms of work`);
    if (this.cluster.process.pid !== this.#pid) throw new Error('the server died');
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#neighbour.terminate();
    this.workspace[Symbol.dispose]();
    this.requests[Symbol.dispose]();
    (await this.#virtual?.catch(() => undefined))?.[Symbol.dispose]();
    await this.cluster[Symbol.asyncDispose]();
    await this.webhook[Symbol.asyncDispose]();
    await this.#folder.remove();
  }
}
