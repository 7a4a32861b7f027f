import { isStatusError, type GroupVersionResource, type KubeObject } from '@multiplane/apimachinery';
import { poll } from '../kubectl-ws/poll.ts';
import { cowboys, cowboysExport, cowboysSchema, sampleCowboy } from './cowboys.ts';
import { apiBindings, apiExports, type Binding } from './permission-claims.ts';
import { createIfNotExists, ensureObjectAndReport, ensureWorkspaceAndReport } from './quickstart-workspace.ts';
import {
  organizationName,
  type QuickstartContext,
  type QuickstartFlags,
  type Scenario,
} from './quickstart-scenario.ts';

const apiResourceSchemas: GroupVersionResource = {
  group: 'apis.kcp.io',
  version: 'v1alpha1',
  resource: 'apiresourceschemas',
};

/** A workspace that exports an API and one that binds it. */
export function apiProviderScenario({ namePrefix: prefix }: QuickstartFlags): Scenario {
  const names = {
    org: organizationName(prefix),
    provider: `${prefix}-provider`,
    consumer: `${prefix}-consumer`,
  };
  const quoted = JSON.stringify;
  const universal = (name: string, { paths }: QuickstartContext) =>
    ({ parent: required(paths.org), name, type: 'universal', prefix }) as const;
  return {
    name: 'api-provider',
    workspaceNames: Object.values(names),
    cascades: 'provider and consumer',
    steps: [
      {
        description: `Creating organization workspace ${quoted(names.org)}`,
        run: async (context) => {
          context.paths.org = await ensureWorkspaceAndReport(
            { parent: 'root', name: names.org, type: 'organization', prefix },
            context,
          );
        },
      },
      {
        description: `Creating service provider workspace ${quoted(names.provider)}`,
        run: async (context) => {
          context.paths.provider = await ensureWorkspaceAndReport(universal(names.provider, context), context);
        },
      },
      {
        description: 'Applying APIResourceSchema',
        run: (context) =>
          ensureObjectAndReport(apiResourceSchemas, required(context.paths.provider), cowboysSchema, context),
      },
      {
        description: 'Applying APIExport',
        run: (context) => ensureObjectAndReport(apiExports, required(context.paths.provider), cowboysExport, context),
      },
      {
        description: `Creating consumer workspace ${quoted(names.consumer)}`,
        run: async (context) => {
          context.paths.consumer = await ensureWorkspaceAndReport(universal(names.consumer, context), context);
        },
      },
      { description: 'Creating APIBinding in consumer workspace', run: bindCowboys },
    ],
    samples: [
      {
        description: `Applying sample Cowboy resource in ${quoted(names.consumer)}`,
        run: (context) => ensureObjectAndReport(cowboys, required(context.paths.consumer), sampleCowboy, context),
      },
    ],
    entry: ({ consumer }) => consumer,
    summary: ({ provider, consumer }, withSamples) => `  Workspace hierarchy:
    root
    +-- ${names.org} (organization)
        +-- ${names.provider} (universal) - service provider
        |   +-- APIResourceSchema: today.cowboys.wildwest.dev
        |   +-- APIExport: cowboys
        +-- ${names.consumer} (universal) - API consumer
            +-- APIBinding: cowboys -> ${required(provider)}:cowboys

  Try it out:
    kubectl ws :${required(consumer)}${withSamples ? '' : tryCowboy}
    kubectl get cowboys

  Cleanup:
    kubectl kcp quickstart --cleanup --name-prefix ${prefix}`,
  };
}

const tryCowboy = `
    kubectl apply -f - <<EOF
    apiVersion: wildwest.dev/v1alpha1
    kind: Cowboy
    metadata:
      name: john-wayne
      namespace: default
    spec:
      intent: good
    EOF`;

/** How long a new export of another shard may be unknown to admission, which then forbids the binding. */
const exportReplicationMs = 10_000;

async function bindCowboys({ modules: { client, out }, deadline, paths }: QuickstartContext): Promise<void> {
  const workspace = required(paths.consumer);
  const name = 'cowboys';
  const object: KubeObject = {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name },
    spec: { reference: { export: { path: required(paths.provider), name: 'cowboys' } } },
  };
  let rejection: unknown;
  const creation = await poll(exportReplicationMs, async () => {
    try {
      return { existed: await createIfNotExists(() => client.objects.create(apiBindings, workspace, object)) };
    } catch (error) {
      if (!isStatusError(error, 'Forbidden')) throw error;
      rejection = error;
      return undefined;
    }
  });
  if (creation === undefined)
    throw new Error(`creating APIBinding "${name}": ${(rejection as Error).message}`, { cause: rejection });
  const bound = await poll(deadline - performance.now(), async () => {
    const binding = await client.objects.get<Binding>(apiBindings, { workspace, name });
    return binding.status?.phase === 'Bound' ? true : undefined;
  });
  if (bound === undefined) throw new Error(`timed out waiting for APIBinding "${name}" to become bound`);
  out(`  APIBinding "${name}" ${creation.existed ? 'already exists' : 'created and bound'}`);
}

function required(path: string | undefined): string {
  if (path === undefined) throw new Error('a workspace of the scenario was not created');
  return path;
}
