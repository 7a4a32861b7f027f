/**
 * The controller of a provider of clusters.marketplace.example, with `@multiplane/provider`. One process serves all consumers
 * on all shards:
 *
 *   node controller.ts <kubeconfig> <context> <finalizer> scope|export <name>
 *
 * The context is the workspace of the marketplace; the scope, or the export, is there. The program is the same for both.
 *
 * - A cluster gets the finalizer, and then the phase Running.
 * - The finalizer is removed when the cluster is being deleted, or waits for its transfer to another provider.
 */
import { provider, type KubeObject } from '@multiplane/provider';

type Cluster = KubeObject & { status?: { phase?: string } };

const [kubeconfig = '', context, finalizer = '', kind, name = ''] = process.argv.slice(2);
const say = (text: string): void => void process.stdout.write(`${text}\n`);

// A provider may only read its own endpoints there, so it has no Lease: run one process.
await provider({ kubeconfig, context, [kind === 'scope' ? 'scope' : 'export']: name, leaderElection: false })
  .resource<Cluster>('marketplace.example/v1/clusters')
  .finalizer(finalizer, (request) => {
    say(`${request.cluster} ${request.name} is released`);
    return Promise.resolve();
  })
  .gone((reference) => {
    say(`${reference.cluster} ${reference.name} is gone`);
    return Promise.resolve();
  })
  .reconcile(async (request) => {
    await request.patchStatus({ phase: 'Running' });
    say(`${request.cluster} ${request.name} is running`);
  })
  .run();
