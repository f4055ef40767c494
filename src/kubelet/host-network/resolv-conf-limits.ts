import { errorText } from '../../base/error-text.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { MAX_SEARCH_CHARS, MAX_SEARCH_PATH_CHARS, MAX_SEARCH_PATHS, parseResolvConf } from '../sync/config/dns.ts';

/** The search paths of the cluster's domain come before those of the node. */
const CLUSTER_SEARCH_PATHS = 3;

export interface ResolvConfSettings {
  /** Empty: pods do not use the node's resolver. */
  readonly resolvConf: string;
  readonly clusterDomain: string;
}

/** Why pods cannot use all search paths of the node's resolv.conf: the message of kubelet's event; `undefined`: they can. */
export async function resolvConfWarning(
  { resolvConf, clusterDomain }: ResolvConfSettings,
  fs: Pick<FileSystem, 'readText' | 'stat'>,
): Promise<string | undefined> {
  if (resolvConf === '') return undefined;
  try {
    if (!(await fs.stat(resolvConf))) return `open ${resolvConf}: no such file or directory`;
    return searchWarning(resolvConf, parseResolvConf(await fs.readText(resolvConf)).searches, clusterDomain);
  } catch (error) {
    return errorText(error);
  }
}

function searchWarning(file: string, searches: readonly string[], clusterDomain: string): string | undefined {
  const maxPaths = MAX_SEARCH_PATHS - (clusterDomain === '' ? 0 : CLUSTER_SEARCH_PATHS);
  if (searches.length > maxPaths) {
    return `Resolv.conf file '${file}' contains search line consisting of more than ${maxPaths} domains!`;
  }
  if (searches.some((path) => path.length > MAX_SEARCH_PATH_CHARS)) {
    return `Resolv.conf file "${file}" contains a search path which length is more than allowed ${MAX_SEARCH_PATH_CHARS} chars!`;
  }
  if (searches.join(' ').length > MAX_SEARCH_CHARS) {
    return `Resolv.conf file '${file}' contains search line which length is more than allowed ${MAX_SEARCH_CHARS} chars!`;
  }
  return undefined;
}
