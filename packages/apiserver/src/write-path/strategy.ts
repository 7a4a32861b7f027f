import type { SlowChecks, Strategy, StrategyContext } from '@multiplane/apis';
import type { WriteRequest } from './write-request.ts';

/** The strategy of the written subresource, else of the kind; `scale` writes through the kind's strategy. */
export function strategyOf(request: Pick<WriteRequest, 'definition' | 'subresource'>): Strategy {
  const subresource = request.subresource === '' ? undefined : request.definition.subresources[request.subresource];
  return subresource?.type === 'object' ? subresource.strategy : request.definition.strategy;
}

/** What strategy hooks see of a write. `slowly` runs expensive validation off the event loop. */
export function strategyContext(request: WriteRequest, now: () => Date, slowly?: SlowChecks): StrategyContext {
  return {
    user: request.user,
    cluster: request.cluster,
    namespace: request.namespace,
    dryRun: request.dryRun,
    now,
    warn: (text) => request.warn(text),
    request,
    ...(request.keepsStatus === true ? { keepsStatus: true } : {}),
    ...(slowly === undefined ? {} : { slowly }),
  };
}
