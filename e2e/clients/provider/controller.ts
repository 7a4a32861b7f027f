/**
 * The provider of Cowboys: tells each cowboy of every consumer what comes of it, and leaves them a note, if the consumer
 * accepts that. One process serves all consumers on all shards.
 *
 * Usage: controller.ts <kubeconfig> <context of the provider's workspace> <name of the APIExport>
 */
import { isStatusError, provider, type KubeObject } from '@multiplane/provider';

type Cowboy = KubeObject & { spec?: { intent?: string }; status?: { result?: string } };

const [kubeconfig = '', context, exportName = ''] = process.argv.slice(2);
const say = (text: string): void => void process.stdout.write(`${text}\n`);

await provider({ kubeconfig, context, export: exportName })
  .resource<Cowboy>('wildwest.dev/v1alpha1/cowboys')
  .reconcile(async (request) => {
    const { object, cluster, namespace, name } = request;
    const result = object.spec?.intent === 'good' ? 'rides into the sunset' : 'is locked up';
    if (object.status?.result === result) return;
    const note = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `note-${name}`, namespace },
      data: { result },
    };
    await request.client.create('v1/configmaps', note).catch((error: unknown) => {
      if (isStatusError(error, 'AlreadyExists')) return;
      // This consumer does not want notes.
      if (!isStatusError(error, 'Forbidden')) throw error;
      say(`no note for ${name}: ${error.message}`);
    });
    await request.patchStatus({ result });
    say(`${name} in ${cluster} ${result}`);
  })
  .run();
