import { join } from 'node:path';
import { nodeImage, provideBaseImages } from './base-images.ts';
import { ContainerEngine, repository } from './engine.ts';

export const composeFile = join(repository, 'deploy', 'compose', 'compose.yaml');
/** What the suites build from this checkout. */
export const image = 'localhost/multiplane-e2e/multiplane:1';

/** An engine that runs containers here, with all base images. Throws an Error with the reason when there is none. */
export function workingEngine(): { readonly engine: ContainerEngine; readonly variant: string } {
  try {
    const plain = ContainerEngine.podman();
    const standIns = provideBaseImages(plain);
    if (standIns.length > 0) process.stderr.write(`Stand-ins, since no registry answers: ${standIns.join(', ')}\n`);
    const refused = refusalOf(plain);
    if (refused === undefined) return { engine: plain, variant: 'podman' };
    const wrapped = ContainerEngine.withoutLimits();
    const stillRefused = refusalOf(wrapped);
    if (stillRefused !== undefined) throw new Error(stillRefused);
    process.stderr.write(`Containers run by runc without resource limits, since here podman says: ${refused}\n`);
    return { engine: wrapped, variant: 'podman and runc without resource limits' };
  } catch (error) {
    throw new Error(`no container can be run here: ${messageOf(error)}`, { cause: error });
  }
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
    engine.sync([...run, nodeImage(), '-e', lookup], { timeout: 60_000 });
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
