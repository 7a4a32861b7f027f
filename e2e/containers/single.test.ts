import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freePorts, TempDir } from '@multiplane/testing';
import { Kubectl } from '../harness/kubectl.ts';
import { buildImage, describeWithContainers } from './available.ts';
import { ComposeProject } from './compose-project.ts';
import { nextImage, troubleIn, widgets } from './fixtures.ts';
import { composeFile, image, projectName } from './working-engine.ts';

describeWithContainers('compose profile single, with a host name and a port of its own', (engine) => {
  const host = 'multiplane.example';
  let port: number;
  let project: ComposeProject;
  let directory: TempDir;
  let kubectl: Kubectl;

  const projectOf = (tag: string): ComposeProject =>
    new ComposeProject(
      {
        name: projectName,
        file: composeFile,
        profiles: ['single'],
        variables: { MULTIPLANE_IMAGE: tag, MULTIPLANE_PORT: String(port), MULTIPLANE_HOSTNAME: host },
      },
      engine,
    );
  /** No name server here knows the host; the certificate must. */
  const local = (path = '/clusters/root'): string[] => [
    '--server',
    `https://127.0.0.1:${port}${path}`,
    '--tls-server-name',
    host,
  ];

  beforeAll(async () => {
    [port = 0] = await freePorts(1);
    directory = await TempDir.create('compose-single');
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

  test('the first start warns of nothing', async () => {
    expect(troubleIn(await project.logs('single'), 'warn')).toEqual([]);
  });

  test('the kubeconfig is copied out with one command, and points to the external URL', async () => {
    const file = directory.join('admin.kubeconfig');
    await project.copy('single', '/data/admin.kubeconfig', file);
    const servers = [...readFileSync(file, 'utf8').matchAll(/server: *"?(https:[^"\s]*)/g)].map(([, server]) => server);
    expect(new Set(servers.map((server) => new URL(server as string).origin))).toEqual(
      new Set([`https://${host}:${port}`]),
    );
    kubectl = await Kubectl.create({ copyOf: file });
    expect(await kubectl.ok([...local(), 'get', 'workspaces'])).toBe('');
  });

  test('a definition and an object of it; endpoints of an export have the external URL', async () => {
    await kubectl.ok([...local(), 'create', '-f', '-'], { stdin: JSON.stringify(widgets.definition) });
    await kubectl.ok([...local(), 'wait', '--for=condition=Established', 'crd/widgets.example.org', '--timeout=30s']);
    await kubectl.ok([...local(), 'create', '-f', '-'], { stdin: JSON.stringify(widgets.object('first')) });
    const shard = await kubectl.json<{ spec: Record<string, string> }>([...local(), 'get', 'shard', 'root']);
    expect(shard.spec).toMatchObject({
      externalURL: `https://${host}:${port}`,
      virtualWorkspaceURL: `https://${host}:${port}`,
    });
  });

  const found = (): Promise<string> => kubectl.ok([...local(), 'get', 'widgets', '-o', 'name']);
  const first = 'widget.example.org/first\n';

  test('all is there after a restart', async () => {
    await project.restart('single');
    expect(await found()).toBe(first);
  }, 60_000);

  test('all is there after down and up', async () => {
    await project.down();
    await project.up();
    expect(await found()).toBe(first);
  }, 120_000);

  test('all is there after an upgrade to another tag', async () => {
    const before = await project.inspect<{ Image: string }>('single');
    const next = projectOf(nextImage(engine));
    await next.up();
    expect(await found()).toBe(first);
    const after = await next.inspect<{ Image: string }>('single');
    expect(after.Image).not.toBe(before.Image);
  }, 120_000);

  test('the log has no errors', async () => {
    expect(troubleIn(await project.logs('single'), 'error')).toEqual([]);
  });
});
