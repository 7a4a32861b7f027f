import type { StepDifference } from './play-on-both.ts';

/**
 * What differences of many scenarios have in common: the method, the two statuses, the place without indexes and names,
 * and the texts without what is quoted or counted.
 */
export function classOf({ request, statuses, differences }: StepDifference): string {
  const [first] = differences;
  if (first === undefined) return '';
  const chosen = differences.find(({ at }) => at === '/body/message') ?? first;
  const patch = /patch/.test(String(request.headers?.['content-type']))
    ? ` ${String(request.headers?.['content-type'])}`
    : '';
  const kind =
    request.path === ''
      ? 'watch'
      : request.path
          .replace(/\?.*/, '')
          .split('/')
          .filter((part) => !part.includes('{{'))
          .slice(-2)
          .join('/');
  return [
    `${request.method ?? 'GET'}${patch} …${kind}`,
    statuses[0] === statuses[1] ? String(statuses[0]) : `${statuses[0]} → ${statuses[1]}`,
    general(chosen.at),
    `${general(chosen.reference)} ≠ ${general(chosen.subject)}`,
  ].join(' | ');
}

function general(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  return text
    .replaceAll(/\/\d+(?=\/|$)/g, '/*')
    .replaceAll(/\{\{\w+\}\}/g, '…')
    .replaceAll(/"[^"]*"/g, '"…"')
    .replaceAll(/\d+/g, 'N')
    .slice(0, 130);
}
