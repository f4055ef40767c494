import { goQuote } from '../../base/go/go-quote.ts';

/** The gRPC services of drivers by the names with which plugins list them, and the full names that gRPC uses. */
const SERVICES = {
  'v1.DRAPlugin': 'k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin',
  'v1beta1.DRAPlugin': 'k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin',
} as const;

/** As plugins list it in their supported versions: `v1.DRAPlugin`. */
export type DraService = keyof typeof SERVICES;

const SUPPORTED = ['v1.DRAPlugin', 'v1beta1.DRAPlugin'] as const satisfies readonly DraService[];

/** The service of which the calls are made: the first of the plugin's list that is supported. Throws kubelet's messages. */
export function chooseDraService(offered: readonly string[]): DraService {
  if (offered.length === 0) throw new Error('empty list of supported gRPC services (aka supported versions)');
  const chosen = offered.find(isSupported);
  if (chosen) return chosen;
  throw new Error(
    `none of services supported by the plugin (${quoted(offered)}) are supported by the kubelet (${quoted(SUPPORTED)})`,
  );
}

/** The messages of both versions are the same, except that v1beta1 has no share IDs. */
export function grpcServiceName(service: DraService): string {
  return SERVICES[service];
}

function isSupported(service: string): service is DraService {
  return Object.hasOwn(SERVICES, service);
}

function quoted(services: readonly string[]): string {
  return `[${services.map(goQuote).join(' ')}]`;
}
