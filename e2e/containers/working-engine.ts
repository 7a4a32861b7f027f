import { join } from 'node:path';
import { nodeImage, provideBaseImages } from './base-images.ts';
import { docker } from './docker.ts';
import { repository, type ContainerEngine } from './engine.ts';
import { podman, podmanWithoutLimits } from './podman.ts';

export const composeFile = join(repository, 'deploy', 'compose', 'compose.yaml');
/** What the suites build from this checkout. */
export const image = 'localhost/multiplane-e2e/multiplane:1';

/** Of containers, networks and volumes of the compose file. */
export const projectName = 'multiplane-e2e';

export interface WorkingEngine {
  readonly engine: ContainerEngine;
  /** What the reports call it. */
  readonly variant: string;
}

/**
 * An engine that runs containers here, with all base images: podman, or docker where podman does not work; `CONTAINER_ENGINE`
 * names the one to use. Throws an Error with the reasons when there is none.
 */
export function workingEngine(wanted: string | undefined = process.env['CONTAINER_ENGINE']): WorkingEngine {
  const reasons: string[] = [];
  for (const [name, find] of Object.entries({ podman: workingPodman, docker: workingDocker })) {
    if (wanted !== undefined && wanted !== '' && wanted !== name) continue;
    try {
      return find();
    } catch (error) {
      reasons.push(`${name}: ${messageOf(error)}`);
    }
  }
  throw new Error(`no container can be run here: ${reasons.join('; ')}`);
}

function workingPodman(): WorkingEngine {
  const plain = podman();
  provideImages(plain);
  const refused = refusalOf(plain);
  if (refused === undefined) return { engine: plain, variant: 'podman' };
  const wrapped = podmanWithoutLimits();
  const stillRefused = refusalOf(wrapped);
  if (stillRefused !== undefined) throw new Error(stillRefused);
  process.stderr.write(`Containers run by runc without resource limits, since here podman says: ${refused}\n`);
  return { engine: wrapped, variant: 'podman and runc without resource limits' };
}

function workingDocker(): WorkingEngine {
  const engine = docker();
  provideImages(engine);
  const refused = refusalOf(engine);
  if (refused !== undefined) throw new Error(refused);
  return { engine, variant: 'docker' };
}

function provideImages(engine: ContainerEngine): void {
  const standIns = provideBaseImages(engine);
  if (standIns.length > 0) process.stderr.write(`Stand-ins, since no registry answers: ${standIns.join(', ')}\n`);
}

/** Why a container cannot run and find itself by its name; undefined if it can. */
function refusalOf(engine: ContainerEngine): string | undefined {
  const network = 'multiplane-e2e-probe';
  const lookup = `require('node:dns').lookup('probe', (error) => process.exit(error === null ? 0 : 1))`;
  try {
    if (!engine.succeeds(['network', 'inspect', network])) engine.sync(['network', 'create', network]);
    const run = [
      'run',
      '--rm',
      '--network',
      network,
      '--network-alias',
      'probe',
      '--entrypoint',
      '/usr/local/bin/node',
    ];
    engine.sync([...run, nodeImage(engine), '-e', lookup], { timeout: 60_000 });
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** The last thing that a program has said, or its failure. */
function messageOf(error: unknown): string {
  const { stderr, message } = error as { readonly stderr?: string | Buffer; readonly message: string };
  return stderr?.toString().trim().split('\n').at(-1) || (message.split('\n', 1)[0] ?? '');
}
