import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service, ServiceSpec } from '../../api/generated/core-v1.ts';
import { serviceVariables } from './service-variables.ts';

function service(name: string, namespace: string, spec: Partial<ServiceSpec>): Service {
  return { metadata: { name, namespace }, spec: { clusterIP: '10.0.0.9', ports: [{ port: 80 }], ...spec } };
}

const kubernetes = service('kubernetes', 'default', { clusterIP: '10.0.0.1', ports: [{ name: 'https', port: 443 }] });

function hostsOf(services: readonly Service[], namespace: string, enableServiceLinks = true): Record<string, string> {
  const all = [...serviceVariables(services, { namespace, enableServiceLinks })];
  return Object.fromEntries(all.filter(([name]) => name.endsWith('_SERVICE_HOST')));
}

test('serviceVariables() has address, ports and links of a service', () => {
  const ports = [
    { name: 'web-ui', port: 8080, protocol: 'TCP' },
    { name: 'dns', port: 53, protocol: 'UDP' },
  ];
  const variables = serviceVariables([service('my-db', 'shop', { ports })], {
    namespace: 'shop',
    enableServiceLinks: true,
  });
  assert.deepEqual(Object.fromEntries(variables), {
    MY_DB_SERVICE_HOST: '10.0.0.9',
    MY_DB_SERVICE_PORT: '8080',
    MY_DB_SERVICE_PORT_WEB_UI: '8080',
    MY_DB_SERVICE_PORT_DNS: '53',
    MY_DB_PORT: 'tcp://10.0.0.9:8080',
    MY_DB_PORT_8080_TCP: 'tcp://10.0.0.9:8080',
    MY_DB_PORT_8080_TCP_PROTO: 'tcp',
    MY_DB_PORT_8080_TCP_PORT: '8080',
    MY_DB_PORT_8080_TCP_ADDR: '10.0.0.9',
    MY_DB_PORT_53_UDP: 'udp://10.0.0.9:53',
    MY_DB_PORT_53_UDP_PROTO: 'udp',
    MY_DB_PORT_53_UDP_PORT: '53',
    MY_DB_PORT_53_UDP_ADDR: '10.0.0.9',
  });
});

test('serviceVariables() puts an IPv6 address in brackets, and defaults to TCP', () => {
  const variables = serviceVariables([service('a', 'n', { clusterIP: 'fd00::9' })], {
    namespace: 'n',
    enableServiceLinks: true,
  });
  assert.equal(variables.get('A_PORT'), 'tcp://[fd00::9]:80');
  assert.equal(variables.get('A_PORT_80_TCP_ADDR'), 'fd00::9');
});

const cases: Record<
  string,
  { services: Service[]; namespace: string; links?: boolean; hosts: Record<string, string> }
> = {
  'the services of its namespace and the API server': {
    services: [kubernetes, service('db', 'shop', {}), service('other', 'elsewhere', {})],
    namespace: 'shop',
    hosts: { KUBERNETES_SERVICE_HOST: '10.0.0.1', DB_SERVICE_HOST: '10.0.0.9' },
  },
  'only the API server without service links': {
    services: [kubernetes, service('db', 'shop', {})],
    namespace: 'shop',
    links: false,
    hosts: { KUBERNETES_SERVICE_HOST: '10.0.0.1' },
  },
  'no service without an address': {
    services: [service('a', 'shop', { clusterIP: 'None' }), service('b', 'shop', { clusterIP: '' })],
    namespace: 'shop',
    hosts: {},
  },
  'its own service with the name of the API server’s, whichever comes first': {
    services: [service('kubernetes', 'shop', {}), kubernetes],
    namespace: 'shop',
    hosts: { KUBERNETES_SERVICE_HOST: '10.0.0.9' },
  },
  'no service without ports': { services: [service('a', 'shop', { ports: [] })], namespace: 'shop', hosts: {} },
};

for (const [what, { services, namespace, links = true, hosts }] of Object.entries(cases)) {
  test(`serviceVariables() passes to a pod ${what}`, () => {
    assert.deepEqual(hostsOf(services, namespace, links), hosts);
  });
}
