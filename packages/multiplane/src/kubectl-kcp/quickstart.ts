import { isStatusError, validateDns1123Label } from '@multiplane/apimachinery';
import { failureText } from '../kubectl/failure-text.ts';
import { use, type CommandModules } from '../kubectl-ws/commands.ts';
import { poll } from '../kubectl-ws/poll.ts';
import { apiProviderScenario } from './quickstart-api-provider.ts';
import {
  organizationName,
  type QuickstartContext,
  type QuickstartFlags,
  type Scenario,
} from './quickstart-scenario.ts';
import { workspaces } from './quickstart-workspace.ts';
import { workspacesScenario } from './quickstart-workspaces.ts';

const scenarios: Readonly<Record<string, (flags: QuickstartFlags) => Scenario>> = {
  'api-provider': apiProviderScenario,
  workspaces: workspacesScenario,
};

/** The selected scenario. Throws the texts of kcp's plugin for invalid flags. */
export function scenarioOf(flags: QuickstartFlags): Scenario {
  const names = Object.keys(scenarios).sort();
  const create = names.includes(flags.scenario) ? scenarios[flags.scenario] : undefined;
  if (create === undefined)
    throw new Error(
      `failed to get scenario: unknown scenario ${JSON.stringify(flags.scenario)}, available: [${names.join(' ')}]`,
    );
  if (flags.namePrefix === '') throw new Error('--name-prefix must not be empty');
  const scenario = create(flags);
  for (const name of scenario.workspaceNames) {
    const problems = validateDns1123Label(name);
    if (problems.length > 0)
      throw new Error(
        `--name-prefix ${JSON.stringify(flags.namePrefix)} produces invalid workspace name ${JSON.stringify(name)}: [${problems.join(' ')}]`,
      );
  }
  return scenario;
}

/** `kubectl kcp quickstart`. */
export async function quickstart(flags: QuickstartFlags, modules: CommandModules): Promise<void> {
  const scenario = scenarioOf(flags);
  const context = { modules, deadline: performance.now() + flags.timeoutMs, paths: {} };
  try {
    if (flags.cleanup === true) await cleanUp(scenario, flags.namePrefix, context);
    else await setUp(scenario, flags, context);
  } catch (error) {
    if (isConnectionError(error)) modules.err(connectionHint(modules.client.origin));
    throw error;
  }
}

async function setUp(scenario: Scenario, flags: QuickstartFlags, context: QuickstartContext): Promise<void> {
  const { out } = context.modules;
  const withSamples = flags.withSamples === true;
  const steps = withSamples ? [...scenario.steps, ...scenario.samples] : scenario.steps;
  out(`Setting up ${JSON.stringify(scenario.name)} scenario with prefix ${JSON.stringify(flags.namePrefix)}...\n`);
  for (const [index, step] of steps.entries()) {
    const number = `${index + 1}/${steps.length}`;
    out(`Step ${number}: ${step.description}...`);
    try {
      await step.run(context);
    } catch (error) {
      throw new Error(`step ${number} failed: ${failureText(error)}`, { cause: error });
    }
  }
  out(`\nQuickstart complete! Here's what was created:\n\n${scenario.summary(context.paths, withSamples)}`);
  const entry = flags.enter === true ? scenario.entry(context.paths) : undefined;
  if (entry !== undefined) await use(`:${entry}`, false, context.modules);
}

const logIntervalMs = 10_000;

async function cleanUp(scenario: Scenario, prefix: string, { modules, deadline }: QuickstartContext): Promise<void> {
  const { client, out, err } = modules;
  const name = organizationName(prefix);
  out(`Cleaning up quickstart resources with prefix ${JSON.stringify(prefix)}...\n`);
  out(`Step 1: Deleting organization workspace ${JSON.stringify(name)} (cascades ${scenario.cascades})...`);
  if (await deleteOrganization(name, modules)) {
    out(`  Waiting for workspace ${JSON.stringify(name)} and all children to finish terminating...`);
    let logAt = performance.now() + logIntervalMs;
    const isDeleted = await poll(deadline - performance.now(), async () => {
      const workspace = await client.get('root', name);
      if (workspace === undefined) return true;
      if (performance.now() >= logAt) {
        logAt += logIntervalMs;
        out(
          workspace.isDeleting
            ? '  Still terminating (cascading deletion in progress)...'
            : `  Deletion pending (phase: ${workspace.phase})...`,
        );
      }
      return undefined;
    });
    if (isDeleted === undefined)
      throw new Error(`timed out waiting for workspace ${JSON.stringify(name)} to terminate`);
  }
  out('\nCleanup complete.');
  try {
    await use(':root', false, modules);
  } catch (error) {
    err(`Warning: cleanup succeeded but could not switch kubeconfig to :root: ${(error as Error).message}`);
  }
}

/** Returns whether it existed. */
async function deleteOrganization(name: string, { client }: CommandModules): Promise<boolean> {
  try {
    await client.objects.delete(workspaces, { workspace: 'root', name });
    return true;
  } catch (error) {
    if (isStatusError(error) && error.code === 404) return false;
    throw error;
  }
}

const connectionErrors = ['ECONNREFUSED', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN'];

function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const inner = error instanceof AggregateError ? error.errors : [error.cause];
  return connectionErrors.includes((error as NodeJS.ErrnoException).code ?? '') || inner.some(isConnectionError);
}

const connectionHint = (server: string): string => `
Cannot reach the control plane at ${server}.
Make sure it is running. To start one:
  multiplane start --bind-address=127.0.0.1

Then set your kubeconfig:
  export KUBECONFIG=.multiplane/admin.kubeconfig
`;
