import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goJson } from './cri-message-json.ts';
import { ContainerConfig, NamespaceMode, PodSandboxConfig, Protocol } from './generated/runtime-v1.ts';

test('a container configuration has protocol names and readable values', () => {
  const config = ContainerConfig.fromPartial({
    envs: [{ key: 'A', value: new TextEncoder().encode('B') }],
    logPath: 'c.log',
    labels: { 'camelCase/key': 'kept' },
    linux: { resources: { memoryLimitInBytes: 64n, unified: { 'memory.high': '1' } } },
  });
  assert.deepEqual(goJson(config), {
    envs: [{ key: 'A', value: 'B' }],
    log_path: 'c.log',
    labels: { 'camelCase/key': 'kept' },
    linux: { resources: { memory_limit_in_bytes: 64, unified: { 'memory.high': '1' } } },
  });
});

test('a sandbox configuration contains only set fields', () => {
  const config = PodSandboxConfig.fromPartial({
    portMappings: [{ protocol: Protocol.UDP, containerPort: 53 }],
    linux: {
      sysctls: { 'net.ipv4.ip_forward': '1' },
      securityContext: { namespaceOptions: { pid: NamespaceMode.CONTAINER } },
    },
  });
  assert.deepEqual(goJson(config), {
    port_mappings: [{ protocol: 1, container_port: 53 }],
    linux: { sysctls: { 'net.ipv4.ip_forward': '1' }, security_context: { namespace_options: { pid: 1 } } },
  });
});
