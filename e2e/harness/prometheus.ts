import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ChildServer, findBinary, freePorts, TempDir } from '@multiplane/testing';
import { parseYaml } from '../../packages/apimachinery/src/index.ts';
import { PrometheusClient } from './prometheus-client.ts';
import type { ShardedCluster } from './sharded-cluster.ts';

const deploy = join(import.meta.dirname, '..', '..', 'deploy');

/** Why there is no Prometheus; undefined where there is one. */
export function missingPrometheus(): string | undefined {
  try {
    findBinary('prometheus');
    return undefined;
  } catch {
    return 'prometheus is not on the PATH; hack/servers fetches it, or install it';
  }
}

/**
 * A Prometheus with the configuration of the compose profile `monitoring`: only addresses, folders and the interval are those of
 * the local control plane.
 */
export class Prometheus implements AsyncDisposable {
  readonly #server: ChildServer;
  readonly #folder: TempDir;
  readonly client: PrometheusClient;

  private constructor(server: ChildServer, folder: TempDir, url: string) {
    this.#server = server;
    this.#folder = folder;
    this.client = new PrometheusClient(url);
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
