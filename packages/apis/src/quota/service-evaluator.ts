import { Quantity } from '@multiplane/apimachinery';
import { at, listAt, numberAt, textAt } from '../fields.ts';
import { one } from './amounts.ts';
import type { QuotaEvaluator } from './quota-evaluator.ts';

const names = ['count/services', 'services', 'services.nodeports', 'services.loadbalancers'];

/** Services, their node ports and load balancers (services.go of Kubernetes). The type of a service can change. */
export const serviceEvaluator: QuotaEvaluator = {
  readsContent: true,
  handles: ({ subresource }) => subresource === '',
  counts: (name) => names.includes(name),
  matches: () => false,
  usage(service) {
    const ports = listAt(service, 'spec', 'ports');
    const type = textAt(service, 'spec', 'type');
    const isBalanced = type === 'LoadBalancer';
    // Node ports are not allocated yet when the service is admitted; the number that it will get counts.
    const counted =
      isBalanced && at(service, 'spec', 'allocateLoadBalancerNodePorts') === false
        ? ports.filter((port) => Number(numberAt(port, 'nodePort') ?? 0) !== 0)
        : isBalanced || type === 'NodePort'
          ? ports
          : [];
    return new Map([
      ['count/services', one],
      ['services', one],
      ['services.nodeports', Quantity.fromInteger(counted.length)],
      ['services.loadbalancers', isBalanced ? one : Quantity.zero],
    ]);
  },
};
