import { encodeYaml, isJsonObject, parseYaml } from '@multiplane/apimachinery';
import type { Kubeconfig } from './kubeconfig.ts';

/**
 * A kubeconfig that a server or a command writes anew over one that people have worked with meanwhile. What is in `made`
 * replaces what has the same name; contexts, clusters and users of other names stay, and so does the current context:
 * whoever has moved with `kubectl ws` is still there. Clusters that stay and were copies of a former one of ours follow it
 * to its new address and authority, or they would lead nowhere.
 *
 * @param before - the text of the file, undefined where there is none
 */
export function renewedKubeconfig(before: string | undefined, made: Kubeconfig): string {
  const text = encodeYaml(made);
  // Mostly nobody has put anything into it, and the library that reads YAML takes longer to load than a start may hold the
  // event loop.
  if (before === undefined || withoutValues(before) === withoutValues(text)) return text;
  const old = parsed(before);
  if (old === undefined) return text;
  const renewed: Kubeconfig = {
    ...made,
    clusters: merged(
      made.clusters,
      old.clusters.map((entry) => following(entry, old.clusters, made.clusters)),
    ),
    contexts: merged(made.contexts, old.contexts),
    users: merged(made.users, old.users),
  };
  const current = old['current-context'];
  if (current !== undefined && renewed.contexts.some(({ name }) => name === current))
    renewed['current-context'] = current;
  return encodeYaml(renewed);
}

/** The text of a kubeconfig without what a server renews: who has the same names and nothing else is replaced as a whole. */
const withoutValues = (text: string): string =>
  text.replaceAll(/^( *(?:token|server|certificate-authority-data):) [^\n]*$/gm, '$1');

function parsed(text: string): Kubeconfig | undefined {
  let value;
  try {
    value = parseYaml(text);
  } catch {
    // It is ours to write: what cannot be read is of no use to anybody.
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const config = value as unknown as Kubeconfig;
  return { ...config, clusters: config.clusters ?? [], contexts: config.contexts ?? [], users: config.users ?? [] };
}

const merged = <T extends { readonly name: string }>(made: readonly T[], old: readonly T[]): T[] => [
  ...made,
  ...old.filter(({ name }) => !made.some((entry) => entry.name === name)),
];

type ClusterEntry = Kubeconfig['clusters'][number];

function following(entry: ClusterEntry, old: readonly ClusterEntry[], made: readonly ClusterEntry[]): ClusterEntry {
  const authority = 'certificate-authority-data';
  for (const { name, cluster } of made) {
    const former = old.find((other) => other.name === name)?.cluster;
    const sameServer = former !== undefined && originOf(former.server) === originOf(entry.cluster.server);
    if (!sameServer || former[authority] !== entry.cluster[authority]) continue;
    const server = originOf(cluster.server) + entry.cluster.server.slice(originOf(entry.cluster.server).length);
    return { ...entry, cluster: { ...entry.cluster, ...cluster, server } };
  }
  return entry;
}

const originOf = (server: string): string => /^[^/]*\/\/[^/]*/.exec(server)?.[0] ?? server;
