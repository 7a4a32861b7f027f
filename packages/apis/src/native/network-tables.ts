import type { Json } from '@multiplane/apimachinery';
import { at, listAt, numberAt, objectAt, textAt, textsAt } from '../fields.ts';
import {
  age,
  cut,
  labelsText,
  nativeTable,
  none,
  selectorText,
  textColumn,
  textOr,
  unset,
  wideColumn,
  type NativeObject,
} from './cells.ts';

/** Where a service can be reached from outside. */
function externalAddresses(service: NativeObject): string {
  const external = textsAt(service, 'spec', 'externalIPs');
  switch (textAt(service, 'spec', 'type') || 'ClusterIP') {
    case 'ClusterIP':
    case 'NodePort':
      return external.join(',') || none;
    case 'LoadBalancer': {
      const addresses = ingressAddresses(service);
      return [...addresses, ...external].join(',') || '<pending>';
    }
    case 'ExternalName':
      return textAt(service, 'spec', 'externalName');
    default:
      return '<unknown>';
  }
}

const ingressAddresses = (object: NativeObject): string[] =>
  listAt(object, 'status', 'loadBalancer', 'ingress')
    .map((ingress) => textAt(ingress, 'ip') || textAt(ingress, 'hostname'))
    .filter((address) => address !== '');

function portText(port: Json): string {
  const number = String(numberAt(port, 'port') ?? 0);
  const nodePort = numberAt(port, 'nodePort') ?? 0;
  const protocol = textAt(port, 'protocol') || 'TCP';
  return Number(nodePort) > 0 ? `${number}:${nodePort}/${protocol}` : `${number}/${protocol}`;
}

export const serviceTable = nativeTable(
  textColumn('Type', textOr('ClusterIP', 'spec', 'type')),
  textColumn(
    'Cluster-IP',
    (service) => textsAt(service, 'spec', 'clusterIPs')[0] ?? textOr(none, 'spec', 'clusterIP')(service),
  ),
  textColumn('External-IP', externalAddresses),
  textColumn('Port(s)', (service) => listAt(service, 'spec', 'ports').map(portText).join(',') || none),
  age,
  wideColumn('Selector', (service) => labelsText(service, 'spec', 'selector')),
);

function endpointsText(endpoints: NativeObject): string {
  const texts: string[] = [];
  for (const subset of listAt(endpoints, 'subsets')) {
    const addresses = listAt(subset, 'addresses').map((address) => textAt(address, 'ip'));
    const ports = listAt(subset, 'ports');
    if (ports.length === 0) texts.push(...addresses);
    for (const port of ports)
      for (const address of addresses) texts.push(`${address}:${String(numberAt(port, 'port') ?? 0)}`);
  }
  return cut(texts, 3) || none;
}

export const endpointsTable = nativeTable(textColumn('Endpoints', endpointsText), age);

export const endpointSliceTable = nativeTable(
  textColumn('AddressType', (slice) => textAt(slice, 'addressType')),
  textColumn('Ports', (slice) => {
    const ports = listAt(slice, 'ports').map((port) => {
      const number = numberAt(port, 'port');
      return number === undefined ? '*' : String(number);
    });
    return ports.length === 0 ? unset : cut(ports, 3);
  }),
  textColumn('Endpoints', (slice) => {
    const addresses = listAt(slice, 'endpoints').flatMap((endpoint) => textsAt(endpoint, 'addresses'));
    return addresses.length === 0 ? unset : cut(addresses, 3);
  }),
  age,
);

function hostsText(ingress: NativeObject): string {
  const hosts = listAt(ingress, 'spec', 'rules')
    .map((rule) => textAt(rule, 'host'))
    .filter((host) => host !== '');
  return hosts.length === 0 ? '*' : cut(hosts, 3);
}

export const ingressTable = nativeTable(
  textColumn('Class', textOr(none, 'spec', 'ingressClassName')),
  textColumn('Hosts', hostsText),
  textColumn('Address', (ingress) => ingressAddresses(ingress).join(',')),
  textColumn('Ports', (ingress) => (listAt(ingress, 'spec', 'tls').length > 0 ? '80, 443' : '80')),
  age,
);

export const ingressClassTable = nativeTable(
  textColumn('Controller', (object) => textAt(object, 'spec', 'controller')),
  textColumn('Parameters', (object) => {
    const parameters = objectAt(object, 'spec', 'parameters');
    if (parameters === undefined) return none;
    const group = textAt(parameters, 'apiGroup');
    return `${textAt(parameters, 'kind')}${group === '' ? '' : `.${group}`}/${textAt(parameters, 'name')}`;
  }),
  age,
);

export const networkPolicyTable = nativeTable(
  textColumn('Pod-Selector', (object) => selectorText(at(object, 'spec', 'podSelector'))),
  age,
);

/** Only the name and whose it is. */
export const ipAddressTable = nativeTable(
  textColumn('ParentRef', (address) => {
    const parent = objectAt(address, 'spec', 'parentRef');
    if (parent === undefined) return none;
    const [group, namespace] = [textAt(parent, 'group'), textAt(parent, 'namespace')];
    const resource = `${textAt(parent, 'resource')}${group === '' ? '' : `.${group}`}`.toLowerCase();
    return `${resource}/${namespace === '' ? '' : `${namespace}/`}${textAt(parent, 'name')}`;
  }),
);

export const serviceCidrTable = nativeTable(
  textColumn('CIDRs', (object) => textsAt(object, 'spec', 'cidrs').join(',')),
  age,
);
