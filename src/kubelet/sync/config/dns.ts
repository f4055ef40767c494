import type { Pod, PodDNSConfigOption } from '../../../api/generated/core-v1.ts';
import { formatPod } from '../../../api/pod-names.ts';
import { DNSConfig } from '../../../cri/generated/runtime-v1.ts';

const MAX_NAMESERVERS = 3;
export const MAX_SEARCH_PATHS = 32;
export const MAX_SEARCH_CHARS = 2048;
/** glibc aborts on a longer search path. */
export const MAX_SEARCH_PATH_CHARS = 253;

export interface DnsSettings {
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** Path of the node's resolv.conf; empty: pods do not use the node's resolver. */
  readonly resolvConf: string;
  readonly hostIPs: readonly string[];
}

/** Recorded as an event of the pod; the pod starts all the same. */
export interface DnsWarning {
  readonly reason: 'MissingClusterDNS' | 'DNSConfigForming';
  /** The message of the same event of the node; absent: the node has none. */
  readonly nodeMessage?: string;
  readonly message: string;
}

export interface PodDns {
  readonly config: DNSConfig;
  readonly warnings: readonly DnsWarning[];
}

/**
 * The DNS configuration of a pod. `resolvConf`: the content of the node's file, empty if none is configured. Throws
 * when it is invalid.
 */
export function podDns(pod: Pod, settings: DnsSettings, resolvConf: string): PodDns {
  const warnings: DnsWarning[] = [];
  const base = baseConfig(pod, settings, parseResolvConf(resolvConf), warnings);
  const { dnsConfig } = pod.spec;
  const merged = dnsConfig
    ? {
        servers: unique([...base.servers, ...(dnsConfig.nameservers ?? [])]),
        searches: unique([...base.searches, ...(dnsConfig.searches ?? [])]),
        options: mergeOptions(base.options, dnsConfig.options ?? []),
      }
    : base;
  const servers = fitServers(merged.servers, warnings);
  const searches = fitSearches(merged.searches, warnings);
  return { config: DNSConfig.fromPartial({ servers, searches, options: [...merged.options] }), warnings };
}

interface Resolver {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** Name servers accumulate; the last search line and the last value of an option win. */
export function parseResolvConf(text: string): Resolver {
  const servers: string[] = [];
  let searches: readonly string[] = [];
  const options = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [keyword = '', ...values] = line.trim().split(/\s+/);
    if (keyword === 'nameserver') {
      const [server] = values;
      if (server === undefined) {
        throw new Error('Encountered error while parsing resolv conf file. Error: nameserver list is empty ');
      }
      servers.push(server);
    }
    // A trailing dot does not change the domain.
    if (keyword === 'search') searches = values.filter((path) => path !== '.').map((path) => path.replace(/\.$/, ''));
    if (keyword === 'options') for (const option of values) options.set(optionName(option), option);
  }
  return { servers, searches, options: [...options.values()] };
}

function baseConfig(pod: Pod, settings: DnsSettings, host: Resolver, warnings: DnsWarning[]): Resolver {
  const { dnsPolicy, hostNetwork } = pod.spec;
  if (dnsPolicy === 'None') return { servers: [], searches: [], options: [] };
  const isHostPolicy = dnsPolicy === 'Default' || (dnsPolicy === 'ClusterFirst' && hostNetwork === true);
  if (!isHostPolicy && settings.clusterDns.length > 0) {
    return { servers: settings.clusterDns, searches: clusterSearches(pod, settings, host), options: ['ndots:5'] };
  }
  if (!isHostPolicy) {
    const text =
      'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. ' +
      'Falling back to "Default" policy.';
    warnings.push({ reason: 'MissingClusterDNS', message: `pod: "${formatPod(pod)}". ${text}`, nodeMessage: text });
  }
  if (settings.resolvConf !== '') return host;
  // An explicit loopback address keeps the runtime from adding the host's name servers.
  const loopbacks = settings.hostIPs.map((ip) => (ip.includes(':') ? '::1' : '127.0.0.1'));
  return { servers: loopbacks.length > 0 ? loopbacks : ['127.0.0.1'], searches: ['.'], options: host.options };
}

function clusterSearches(pod: Pod, { clusterDomain }: DnsSettings, host: Resolver): readonly string[] {
  if (clusterDomain === '') return host.searches;
  const own = [`${pod.metadata.namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
  return unique([...own, ...host.searches]);
}

function mergeOptions(existing: readonly string[], added: readonly PodDNSConfigOption[]): string[] {
  const options = new Map<string, string>();
  for (const option of existing) options.set(optionName(option), option.slice(optionName(option).length + 1));
  for (const { name = '', value = '' } of added) options.set(name, value);
  return [...options].map(([name, value]) => (value === '' ? name : `${name}:${value}`));
}

function fitServers(servers: readonly string[], warnings: DnsWarning[]): string[] {
  const fitting = servers.slice(0, MAX_NAMESERVERS);
  const limits = 'Nameserver limits were exceeded, some nameservers have been omitted';
  if (fitting.length < servers.length) warnings.push(dnsWarning(`${limits}, the applied nameserver line is`, fitting));
  return fitting;
}

function fitSearches(searches: readonly string[], warnings: DnsWarning[]): string[] {
  const fitting = searches.slice(0, MAX_SEARCH_PATHS).filter((path) => path.length <= MAX_SEARCH_PATH_CHARS);
  while (fitting.join(' ').length > MAX_SEARCH_CHARS) fitting.pop();
  const limits = 'Search Line limits were exceeded, some search paths have been omitted';
  if (fitting.length < searches.length) warnings.push(dnsWarning(`${limits}, the applied search line is`, fitting));
  return fitting;
}

function dnsWarning(text: string, applied: readonly string[]): DnsWarning {
  return { reason: 'DNSConfigForming', message: `${text}: ${applied.join(' ')}` };
}

function optionName(option: string): string {
  return option.split(':', 1)[0] ?? option;
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
