import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { clientSuites, type ClientSuite } from './client-suites.ts';
import { suiteArguments, suiteFlags, type SuiteArguments } from './suite-arguments.ts';

export interface ClientArguments extends SuiteArguments {
  readonly client: string;
  readonly suite: ClientSuite;
  /** The folder of kube-apiserver, when the suite needs one. */
  readonly assets: string | undefined;
}

/** Throws what is wrong with the flags. */
export function clientArguments(args: readonly string[]): ClientArguments {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { ...suiteFlags, client: { type: 'string' }, assets: { type: 'string' } },
  });
  const { client, assets, sources } = values;
  const names = Object.keys(clientSuites).join(', ');
  if (client === undefined) throw new Error(`--client is required: one of ${names}`);
  const suite = Object.hasOwn(clientSuites, client) ? clientSuites[client] : undefined;
  if (suite === undefined) throw new Error(`--client ${JSON.stringify(client)}: expected one of ${names}`);
  if (suite.needsKubernetes && assets === undefined)
    throw new Error(`--assets is required: the tests of ${client} start a kube-apiserver`);
  return {
    ...suiteArguments(
      sources === undefined ? values : { binaries: join(sources, '_build'), ...values },
      positionals,
      client,
    ),
    client,
    suite,
    assets: assets === undefined ? undefined : resolve(assets),
  };
}
