import { encodeYaml, isJsonObject, parseYaml } from '@multiplane/apimachinery';
import type { Kubeconfig } from './kubeconfig.ts';

/**
 * The text of a regenerated kubeconfig, merged into the existing file, which users may have changed.
 *
 * - Entries of `generated` replace those of the same name; other contexts, clusters and users are kept.
 * - The current context is kept, so that a user who moved with `kubectl ws` stays in that workspace.
 * - Kept clusters that are copies of a replaced one, at another path of the same server, get the new address and CA.
 *
 * @param before - the text of the file, undefined when it does not exist
 */
export function mergeKubeconfig(before: string | undefined, generated: Kubeconfig): string {
  const text = encodeYaml(generated);
  // Usually the file has not been changed, and loading the YAML parser blocks the event loop of a starting server.
  if (before === undefined || withoutValues(before) === withoutValues(text)) return text;
  const old = parsed(before);
  if (old === undefined) return text;
  const result: Kubeconfig = {
    ...old,
    ...generated,
    clusters: merged(
      generated.clusters,
      old.clusters.map((entry) => relocated(entry, old.clusters, generated.clusters)),
    ),
    contexts: merged(generated.contexts, old.contexts),
    users: merged(generated.users, old.users),
  };
  const current = old['current-context'];
  if (current !== undefined && result.contexts.some(({ name }) => name === current))
    result['current-context'] = current;
  return encodeYaml(result);
}

/** The text of a kubeconfig without the values that a server regenerates. Equal texts have the same entries. */
const withoutValues = (text: string): string =>
  text.replaceAll(/^( *(?:token|server|certificate-authority-data):) [^\n]*$/gm, '$1');

function parsed(text: string): Kubeconfig | undefined {
  let value;
  try {
    value = parseYaml(text);
  } catch {
    // The file is generated, so an unreadable one is replaced.
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const config = value as unknown as Kubeconfig;
  return { ...config, clusters: config.clusters ?? [], contexts: config.contexts ?? [], users: config.users ?? [] };
}

const merged = <T extends { readonly name: string }>(generated: readonly T[], old: readonly T[]): T[] => [
  ...generated,
  ...old.filter(({ name }) => !generated.some((entry) => entry.name === name)),
];

type ClusterEntry = Kubeconfig['clusters'][number];

/** A kept cluster with the address and CA of the generated one that it was copied from. */
function relocated(
  entry: ClusterEntry,
  old: readonly ClusterEntry[],
  generated: readonly ClusterEntry[],
): ClusterEntry {
  const authority = 'certificate-authority-data';
  for (const { name, cluster } of generated) {
    const previous = old.find((other) => other.name === name)?.cluster;
    const sameServer = previous !== undefined && originOf(previous.server) === originOf(entry.cluster.server);
    if (!sameServer || previous[authority] !== entry.cluster[authority]) continue;
    const server = originOf(cluster.server) + entry.cluster.server.slice(originOf(entry.cluster.server).length);
    return { ...entry, cluster: { ...entry.cluster, ...cluster, server } };
  }
  return entry;
}

const originOf = (server: string): string => /^[^/]*\/\/[^/]*/.exec(server)?.[0] ?? server;
