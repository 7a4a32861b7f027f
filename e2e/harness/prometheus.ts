import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';
import { ChildServer, findBinary, freePorts, TempDir } from '@multiplane/testing';
import { parseYaml } from '../../packages/apimachinery/src/yaml/yaml-codec.ts';
import type { ShardedCluster } from './sharded-cluster.ts';

const deploy = join(import.meta.dirname, '..', '..', 'deploy');

/** One member of `data` of the API of Prometheus; what tests read of it. */
export interface PrometheusTarget {
  readonly labels: { readonly process?: string };
  readonly health: string;
  readonly lastError: string;
}

export interface PrometheusRule {
  readonly name: string;
  readonly health: string;
  readonly lastError?: string;
}

/** Whether `hack/servers` could get a Prometheus. */
export function hasPrometheus(): boolean {
  try {
    return findBinary('prometheus') !== '';
  } catch {
    return false;
  }
}

/**
 * A Prometheus with the configuration of the compose profile `monitoring`: only addresses, folders and the interval are those of
 * the local control plane.
 */
export class Prometheus implements AsyncDisposable {
  readonly #server: ChildServer;
  readonly #folder: TempDir;
  readonly #url: string;

  private constructor(server: ChildServer, folder: TempDir, url: string) {
    this.#server = server;
    this.#folder = folder;
    this.#url = url;
  }

  static async start(cluster: ShardedCluster): Promise<Prometheus> {
    const folder = await TempDir.create('prometheus');
    const [port] = await freePorts(1);
    const url = `http://127.0.0.1:${port}`;
    const file = folder.join('prometheus.json');
    writeFileSync(file, JSON.stringify(localConfiguration(cluster)));
    const server = new ChildServer({
      name: 'prometheus',
      command: findBinary('prometheus'),
      args: [
        `--config.file=${file}`,
        `--storage.tsdb.path=${folder.join('data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      probe: async () => {
        const response = await fetch(`${url}/-/ready`);
        if (!response.ok) throw new Error(await response.text());
      },
    });
    await server.start();
    return new Prometheus(server, folder, url);
  }

  async #data(path: string): Promise<JsonObject> {
    const response = await fetch(`${this.#url}/api/v1/${path}`);
    const { data, error } = (await response.json()) as { readonly data?: Json; readonly error?: string };
    if (data === undefined || !isJsonObject(data)) throw new Error(`Prometheus refuses ${path}: ${error}`);
    return data;
  }

  async targets(): Promise<readonly PrometheusTarget[]> {
    return (await this.#data('targets'))['activeTargets'] as unknown as PrometheusTarget[];
  }

  async rules(): Promise<readonly PrometheusRule[]> {
    const { groups } = (await this.#data('rules')) as unknown as { groups: { rules: PrometheusRule[] }[] };
    return groups.flatMap(({ rules }) => rules);
  }

  /** The series of the result. Throws the error of Prometheus when it cannot evaluate the query. */
  async query(query: string): Promise<readonly Json[]> {
    return (await this.#data(`query?query=${encodeURIComponent(query)}`))['result'] as Json[];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.kill();
    await this.#folder.remove();
  }
}

interface Configuration {
  readonly global: object;
  readonly scrape_configs: readonly {
    readonly static_configs: readonly { readonly labels: { readonly process: string } }[];
  }[];
}

function localConfiguration(cluster: ShardedCluster): object {
  const text = readFileSync(join(deploy, 'compose', 'config', 'prometheus.yaml'), 'utf8')
    .replaceAll('/pki/', `${cluster.path('pki')}/`)
    .replaceAll('/etc/monitoring/', `${join(deploy, 'monitoring')}/`);
  const given = parseYaml(text) as unknown as Configuration;
  const portOf = (process: string): number => {
    const found = cluster.ports.find(({ name }) => name === process);
    if (found === undefined) throw new Error(`the compose file has ${process}, the control plane does not`);
    return found.port;
  };
  return {
    ...given,
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    scrape_configs: given.scrape_configs.map((job) => ({
      ...job,
      static_configs: job.static_configs.map((server) => ({
        ...server,
        targets: [`127.0.0.1:${portOf(server.labels.process)}`],
      })),
    })),
  };
}
