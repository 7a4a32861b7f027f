import { groupResourceText, StatusError } from '@multiplane/apimachinery';
import type { Filter } from '@multiplane/generic-server';

/** Rejects requests over all logical clusters other than LIST and WATCH, with 405 as kcp does. */
export const withWildcardGuard: Filter = (next) => (context) => {
  const { info } = context;
  if (info.cluster !== '*' || !info.isResourceRequest || info.verb === 'list' || info.verb === 'watch')
    return next(context);
  throw new StatusError({
    code: 405,
    reason: 'MethodNotAllowed',
    message: `${info.verb} is not supported on resources of kind "${groupResourceText(info)}" in the \`*\` logical cluster`,
    details: {
      ...(info.group === '' ? {} : { group: info.group }),
      kind: info.resource,
    },
  });
};
