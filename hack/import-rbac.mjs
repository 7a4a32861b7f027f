#!/usr/bin/env node
// Writes packages/apis/src/rbac/bootstrap-policy.data.ts from Kubernetes' bootstrap policy test data: the default roles
// and bindings, as compact facts.  Usage: hack/node hack/import-rbac.mjs <folder with cluster-roles.yaml …>
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const folder = process.argv[2];
if (folder === undefined || folder === '--help') {
  console.error(
    'usage: import-rbac.mjs <folder with cluster-roles.yaml, cluster-role-bindings.yaml, namespace-roles.yaml, …>',
  );
  process.exit(folder === undefined ? 2 : 0);
}
const { parse } = createRequire(join(import.meta.dirname, '../packages/apimachinery/package.json'))('yaml');
// A distribution's own rules: they would open the issuer's documents of the whole installation to every tenant.
const foreign = 'system:openshift:';
const items = (file) =>
  parse(readFileSync(join(folder, file), 'utf8')).items.filter(({ metadata }) => !metadata.name.startsWith(foreign));

/** Rules in one line each: verbs, groups, resources, names; or verbs and paths. */
const rule = (r) =>
  r.nonResourceURLs
    ? { verbs: r.verbs, nonResourceURLs: r.nonResourceURLs }
    : {
        verbs: r.verbs,
        apiGroups: r.apiGroups,
        resources: r.resources,
        ...(r.resourceNames ? { resourceNames: r.resourceNames } : {}),
      };
const labelsOf = ({ labels = {} }) =>
  Object.fromEntries(Object.entries(labels).filter(([key]) => key !== 'kubernetes.io/bootstrapping'));
const role = (o) => ({
  name: o.metadata.name,
  ...(o.metadata.namespace ? { namespace: o.metadata.namespace } : {}),
  ...(Object.keys(labelsOf(o.metadata)).length ? { labels: labelsOf(o.metadata) } : {}),
  ...(o.aggregationRule ? { aggregates: o.aggregationRule.clusterRoleSelectors.map((s) => s.matchLabels) } : {}),
  ...(o.rules ? { rules: o.rules.map(rule) } : {}),
});
const binding = (o) => ({
  name: o.metadata.name,
  ...(o.metadata.namespace ? { namespace: o.metadata.namespace } : {}),
  role: o.roleRef,
  ...(o.subjects ? { subjects: o.subjects } : {}),
});
const lines = (name, type, list) =>
  `export const ${name}: readonly ${type}[] = [\n${list.map((entry) => `  ${JSON.stringify(entry)},`).join('\n')}\n];\n`;

writeFileSync(
  join(import.meta.dirname, '../packages/apis/src/rbac/bootstrap-policy.data.ts'),
  `// Made by hack/import-rbac.mjs from Kubernetes 1.36's bootstrap policy (facts: names, rules, subjects).\nimport type { BindingSpec, RoleSpec } from './policy-spec.ts';\n\n${[
    lines('clusterRoleSpecs', 'RoleSpec', items('cluster-roles.yaml').map(role)),
    lines('clusterRoleBindingSpecs', 'BindingSpec', items('cluster-role-bindings.yaml').map(binding)),
    lines('roleSpecs', 'RoleSpec', items('namespace-roles.yaml').map(role)),
    lines('roleBindingSpecs', 'BindingSpec', items('namespace-role-bindings.yaml').map(binding)),
  ].join('\n')}`,
);
