import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually, freePorts, TempDir } from '@multiplane/testing';
import { Kubectl } from '../harness/kubectl.ts';
import { PrometheusClient } from '../harness/prometheus-client.ts';
import { buildImage, describeWithContainers } from './available.ts';
import { ComposeProject } from './compose-project.ts';
import { gadgets, nextImage, troubleIn, widgets, workspaceOn } from './fixtures.ts';
import { composeFile, image, projectName } from './working-engine.ts';

const patient = { timeout: 60_000 };

/** Servers that write logs of their own form. */
const foreign = ['nats', 'prometheus'];

describeWithContainers('compose profiles sharded and monitoring', (engine) => {
  let port: number;
  let prometheusPort: number;
  let project: ComposeProject;
  let directory: TempDir;
  let kubectl: Kubectl;
  /** Logical clusters of the two workspaces. */
  const clusters = new Map<string, string>();

  const projectOf = (tag: string): ComposeProject =>
    new ComposeProject(
      {
        name: projectName,
        file: composeFile,
        profiles: ['sharded', 'monitoring'],
        // Debian, of whose packages stand-ins are made, has none of it.
        without: ['grafana'],
        variables: {
          MULTIPLANE_IMAGE: tag,
          MULTIPLANE_PORT: String(port),
          PROMETHEUS_PORT: String(prometheusPort),
          GRAFANA_PASSWORD: 'unused',
        },
      },
      engine,
    );
  const scraped = (): string[] =>
    project.servers.filter((name) => !foreign.includes(name) && !name.startsWith('etcd-'));
  const at = (path: string): string[] => ['--server', `https://localhost:${port}${path}`];
  const inside = (workspace: string): string[] => at(`/clusters/root:${workspace}`);

  beforeAll(async () => {
    [port = 0, prometheusPort = 0] = await freePorts(2);
    directory = await TempDir.create('compose-sharded');
    await buildImage(engine);
    project = projectOf(image);
    // What a run that was killed has left.
    await project.down({ volumes: true });
    await project.up();
  }, 600_000);
  afterAll(async () => {
    await project?.down({ volumes: true });
    await kubectl?.[Symbol.asyncDispose]();
    await directory?.remove();
  }, 120_000);

  test('every server runs as a user without rights, on a read-only root', async () => {
    expect(project.servers).toHaveLength(11);
    expect(await project.state('prepare')).toBe('exited 0');
    for (const name of project.servers) {
      expect([name, await project.state(name)]).toEqual([name, 'running']);
      const { Config, HostConfig, EffectiveCaps } = await project.inspect<{
        Config: { User: string };
        HostConfig: { ReadonlyRootfs: boolean };
        EffectiveCaps: readonly string[] | null;
      }>(name);
      expect([name, Config.User, HostConfig.ReadonlyRootfs, EffectiveCaps ?? []]).toEqual([
        name,
        '65532:65532',
        true,
        [],
      ]);
    }
  }, 60_000);

  test('Node warns of nothing on the first start', async () => {
    const lines = await Promise.all(
      project.servers
        .filter((name) => !foreign.includes(name))
        .map(async (name) =>
          (await project.logs(name)).split('\n').filter((line) => line !== '' && !line.startsWith('{')),
        ),
    );
    expect(lines.flat()).toEqual([]);
    expect(await project.logs('prepare')).not.toMatch(/warn/i);
  });

  test('the kubeconfig is copied out with one command, and points to the published port', async () => {
    const file = directory.join('admin.kubeconfig');
    await project.copy('front-proxy', '/pki/admin.kubeconfig', file);
    const servers = [...readFileSync(file, 'utf8').matchAll(/server"?: *"?(https:[^"\s]*)/g)].map(
      ([, server]) => server,
    );
    expect(servers.length).toBeGreaterThan(0);
    expect(new Set(servers.map((server) => new URL(server as string).origin))).toEqual(
      new Set([`https://localhost:${port}`]),
    );
    kubectl = await Kubectl.create({ copyOf: file });
    expect((await kubectl.ok(['get', 'shards', '-o', 'name'])).trim().split('\n')).toEqual([
      'shard.core.kcp.io/root',
      'shard.core.kcp.io/shard-1',
    ]);
  });

  test('workspaces on both shards, with a definition and an object in each', async () => {
    for (const [name, shard] of [
      ['here', 'root'],
      ['there', 'shard-1'],
    ] as const) {
      await kubectl.create(workspaceOn(name, shard));
      await kubectl.ok(['wait', 'workspace', name, '--for=jsonpath={.status.phase}=Ready', '--timeout=60s']);
      clusters.set(name, await kubectl.ok(['get', 'workspace', name, '-o', 'jsonpath={.spec.cluster}']));
      const apply = (object: object): Promise<string> =>
        eventually(() => kubectl.ok([...inside(name), 'apply', '-f', '-'], { stdin: JSON.stringify(object) }), patient);
      await apply(widgets.definition);
      await kubectl.ok([
        ...inside(name),
        'wait',
        '--for=condition=Established',
        'crd/widgets.example.org',
        '--timeout=30s',
      ]);
      await apply(widgets.object(`from-${name}`));
    }
    const shardOf = async (name: string): Promise<string> =>
      kubectl.ok([
        'get',
        'workspace',
        name,
        '-o',
        "jsonpath={.metadata.annotations['internal\\.tenancy\\.kcp\\.io/shard']}",
      ]);
    // The annotation is a hash of the name of the shard.
    expect(await shardOf('here')).not.toBe(await shardOf('there'));
  }, 180_000);

  test('an export of one shard is bound on the other, and its provider sees the object in the virtual workspace', async () => {
    for (const object of [gadgets.schema, gadgets.export])
      await kubectl.ok([...inside('there'), 'create', '-f', '-'], { stdin: JSON.stringify(object) });
    await kubectl.ok([
      ...inside('there'),
      'wait',
      'apiexport',
      'gadgets',
      '--for=condition=IdentityValid',
      '--timeout=60s',
    ]);
    const bind = { ...gadgets.binding('root:there') };
    await eventually(
      () => kubectl.ok([...inside('here'), 'apply', '-f', '-'], { stdin: JSON.stringify(bind) }),
      patient,
    );
    await kubectl.ok([
      ...inside('here'),
      'wait',
      'apibinding',
      'gadgets',
      '--for=jsonpath={.status.phase}=Bound',
      '--timeout=60s',
    ]);
    await eventually(
      () => kubectl.ok([...inside('here'), 'apply', '-f', '-'], { stdin: JSON.stringify(gadgets.object('bound')) }),
      patient,
    );
    await eventually(boundIsSeen, patient);
  }, 240_000);

  /** Through the front-proxy, which finds the virtual workspaces of the consumer's shard. */
  async function boundIsSeen(): Promise<void> {
    const path = `/services/apiexport/${clusters.get('there')}/gadgets/clusters/${clusters.get('here')}`;
    expect(await kubectl.ok([...at(path), 'get', 'gadgets', '-o', 'name'])).toBe('gadget.gadgets.example.org/bound\n');
  }

  /** Reads and writes on both shards, and through the virtual workspace. */
  async function allIsThere(): Promise<void> {
    for (const name of ['here', 'there']) {
      expect(await kubectl.ok([...inside(name), 'get', 'widgets', '-o', 'name'])).toBe(
        `widget.example.org/from-${name}\n`,
      );
      await kubectl.ok([...inside(name), 'annotate', 'widget', `from-${name}`, '--overwrite', `at=${Date.now()}`]);
    }
    await boundIsSeen();
  }

  test('each container in turn is restarted: it is healthy again, and all is there', async () => {
    for (const name of project.servers) {
      await project.restart(name);
      // What depends on it connects again.
      await eventually(allIsThere, { timeout: 90_000 }).catch((error: unknown) => {
        throw new Error(`after a restart of ${name}`, { cause: error });
      });
    }
    for (const name of project.servers) await project.healthy(name);
  }, 600_000);

  test('Prometheus reads every server, and evaluates every rule', async () => {
    const prometheus = new PrometheusClient(`http://127.0.0.1:${prometheusPort}`);
    await eventually(
      async () => {
        const targets = await prometheus.targets();
        expect(
          Object.fromEntries(
            targets.map(({ labels, health, lastError }) => [labels.process, `${health} ${lastError}`]),
          ),
        ).toEqual(Object.fromEntries(scraped().map((name) => [name, 'up '])));
        const rules = await prometheus.rules();
        expect(rules.length).toBeGreaterThan(0);
        expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
        // Prometheus reads a server every 15 seconds and evaluates a rule every minute.
      },
      { timeout: 120_000 },
    );
  }, 150_000);

  test('the logs have no errors', async () => {
    const lines = await Promise.all(
      project.servers.map(async (name) =>
        troubleIn(await project.logs(name), 'error').map((line) => `${name}: ${line}`),
      ),
    );
    expect(lines.flat()).toEqual([]);
  });

  test('all is there after down and up', async () => {
    await project.down();
    await project.up();
    await eventually(allIsThere, patient);
  }, 300_000);

  test('all is there after an upgrade to another tag, which replaces no etcd and no NATS', async () => {
    const imageOf = async (name: string): Promise<string> => (await project.inspect<{ Id: string }>(name)).Id;
    const before = new Map<string, string>();
    for (const name of project.servers) before.set(name, await imageOf(name));
    await projectOf(nextImage(engine)).up();
    const kept: string[] = [];
    for (const name of project.servers) if ((await imageOf(name)) === before.get(name)) kept.push(name);
    expect(kept.sort()).toEqual(['etcd-root', 'etcd-shard-1', 'nats', 'prometheus']);
    await eventually(allIsThere, patient);
  }, 300_000);
});
