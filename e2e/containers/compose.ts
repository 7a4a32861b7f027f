/**
 * What `docker compose` does with deploy/compose/compose.yaml, by the runner and with the images of the suites, to look at what
 * they start: up, down [--volumes], ps, restart, logs, cp, exec; variables from `.env` and the environment.
 * Usage: hack/node --conditions=multiplane-source e2e/containers/compose.ts --profile sharded <command> ...
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs, parseEnv } from 'node:util';
import { ComposeProject } from './compose-project.ts';
import { composeFile, image, projectName, workingEngine } from './working-engine.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    profile: { type: 'string', multiple: true, default: ['sharded'] },
    volumes: { type: 'boolean', default: false },
    detach: { type: 'boolean' },
  },
});
const [command = '', ...rest] = positionals;

async function main(): Promise<void> {
  const { engine } = workingEngine();
  const settings = join(dirname(composeFile), '.env');
  const own = Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  const variables = {
    MULTIPLANE_IMAGE: image,
    ...withoutEmpty(existsSync(settings) ? parseEnv(readFileSync(settings, 'utf8')) : {}),
    ...(Object.fromEntries(own) as Record<string, string>),
  };
  const project = new ComposeProject(
    { name: projectName, file: composeFile, profiles: values.profile, variables },
    engine,
  );
  const [service = ''] = rest;
  switch (command) {
    case 'up':
      return project.up();
    case 'down':
      return project.down({ volumes: values.volumes });
    case 'restart':
      return project.restart(service);
    case 'ps':
      for (const name of project.services) console.log(`${name.padEnd(28)} ${await stateOf(project, name)}`);
      return;
    case 'logs':
      console.log(await project.logs(service));
      return;
    case 'exec': {
      const { code, stdout, stderr } = await project.exec(service, rest.slice(1));
      process.stdout.write(stdout);
      process.stderr.write(stderr);
      process.exitCode = code;
      return;
    }
    case 'cp': {
      const [from = '', to = ''] = rest;
      const [name = '', path = ''] = from.split(':');
      return project.copy(name, path, to);
    }
    default:
      throw new Error('usage: compose.ts [--profile single|sharded] up|down|ps|restart|logs|cp|exec');
  }
}

const withoutEmpty = (variables: NodeJS.Dict<string>): Record<string, string> =>
  Object.fromEntries(Object.entries(variables).flatMap(([name, value = '']) => (value === '' ? [] : [[name, value]])));

async function stateOf(project: ComposeProject, service: string): Promise<string> {
  try {
    const state = await project.state(service);
    if (state !== 'running') return state;
    return (await project.isHealthy(service)) ? 'running (healthy)' : 'running (unhealthy)';
  } catch {
    return 'not created';
  }
}

await main();
