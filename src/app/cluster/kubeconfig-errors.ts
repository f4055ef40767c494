import type { KubeconfigCluster, KubeconfigUser } from './kubeconfig-document.ts';
import { execErrors } from './kubeconfig-exec.ts';

/** Validates a cluster, with client-go's messages where it has them. */
export function clusterErrors(name: string, cluster: KubeconfigCluster): string[] {
  const { server, 'proxy-url': proxy } = cluster;
  const { 'certificate-authority': file, 'certificate-authority-data': data } = cluster;
  const both = `certificate-authority-data and certificate-authority are both specified for ${name}. certificate-authority-data will override.`;
  return [
    ...(server === '' ? [`no server found for cluster ${JSON.stringify(name)}`] : []),
    ...(server !== '' && !isUrl(server) ? [`clusters[${name}].server: host must be a URL or a host:port pair`] : []),
    ...(proxy === '' ? [] : proxyErrors(name, proxy)),
    ...(file !== '' && data !== '' ? [both] : []),
    ...base64Errors(`clusters[${name}].certificate-authority-data`, data),
    ...(cluster['insecure-skip-tls-verify'] && (file !== '' || data !== '')
      ? ['specifying a root certificates file with the insecure flag is not allowed']
      : []),
  ];
}

/** Validates a user; an anonymous one is valid. */
export function userErrors(name: string, user: KubeconfigUser | undefined): string[] {
  if (!user) return [];
  const methods = [
    ...(user.token === '' ? [] : ['token']),
    ...(user.username === '' && user.password === '' ? [] : ['basicAuth']),
  ];
  const many = `more than one authentication method found for ${name}; found [${methods.join(' ')}], only one is allowed`;
  return [
    ...certificateErrors(name, user),
    ...(user.exec ? execErrors(name, user.exec) : []),
    ...(methods.length > 1 ? [many] : []),
    ...unsupportedFieldErrors(name, user),
  ];
}

function certificateErrors(name: string, user: KubeconfigUser): string[] {
  const { 'client-certificate': file, 'client-certificate-data': data } = user;
  const { 'client-key': keyFile, 'client-key-data': keyData } = user;
  if (file === '' && data === '') return [];
  const both = `client-cert-data and client-cert are both specified for ${name}. client-cert-data will override.`;
  const bothKeys = `client-key-data and client-key are both specified for ${name}; client-key-data will override`;
  const noKey = `client-key-data or client-key must be specified for ${name} to use the clientCert authentication method.`;
  return [
    ...(file !== '' && data !== '' ? [both] : []),
    ...(keyFile !== '' && keyData !== '' ? [bothKeys] : []),
    ...(keyFile === '' && keyData === '' ? [noKey] : []),
    ...base64Errors(`users[${name}].client-certificate-data`, data),
    ...base64Errors(`users[${name}].client-key-data`, keyData),
  ];
}

/** Rejects fields that must not be ignored. */
function unsupportedFieldErrors(name: string, user: KubeconfigUser): string[] {
  const isOther = user.as !== '' || user['as-uid'] !== '' || user['as-groups'].length > 0 || user['as-user-extra'];
  return [
    ...(isOther ? [`users[${name}].as: a node does not act for others`] : []),
    ...(user['auth-provider'] ? [`users[${name}].auth-provider: not supported, use exec`] : []),
  ];
}

function proxyErrors(name: string, proxy: string): string[] {
  const start = `invalid 'proxy-url' ${JSON.stringify(withoutPassword(proxy))} for cluster ${JSON.stringify(name)}`;
  if (!URL.canParse(proxy)) return [`${start}: could not parse`];
  const { protocol } = new URL(proxy);
  if (protocol === 'http:' || protocol === 'https:') return [];
  return [`${start}: unsupported scheme ${JSON.stringify(protocol.replace(/:$/, ''))}, must be http or https`];
}

function withoutPassword(proxy: string): string {
  return proxy.replace(/\/\/[^@/]*@/, '//');
}

function isUrl(server: string): boolean {
  return /^https?:\/\//i.test(server)
    ? URL.canParse(server)
    : /^[^/\s]+\/?$/.test(server) && URL.canParse(`http://${server}`);
}

function base64Errors(field: string, data: string): string[] {
  return /^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(data) ? [] : [`${field}: illegal base64 data`];
}
