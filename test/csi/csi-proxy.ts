import { rmSync } from 'node:fs';
import { status } from '@grpc/grpc-js';
import { IdentityDefinition, NodeDefinition } from '../../src/plugins/generated/csi-v1.ts';
import {
  PluginInfo,
  RegistrationDefinition,
  RegistrationStatus,
} from '../../src/plugins/generated/pluginregistration-v1.ts';
import { type CsiCall, messageJson } from './csi-calls.ts';
import { connectGrpc, methodsOf, serveGrpc } from './grpc-methods.ts';

/** The node service of a CSI driver, behind a recorder. */
export interface CsiProxy {
  /** The calls of the agent, in the order of their ends. */
  readonly calls: readonly CsiCall[];
  /** The registration states that the agent has sent. */
  readonly registrations: readonly RegistrationStatus[];
  /** Withdraws the registration and stops serving. */
  stop(): Promise<void>;
}

export interface CsiProxyPlan {
  readonly driverName: string;
  /** The socket of the driver. */
  readonly driverSocket: string;
  /** The socket that the agent calls. */
  readonly socketPath: string;
  /** The socket in the agent's directory of plugin registrations. */
  readonly registrationPath: string;
  /**
   * Answers with success when a volume that is to be unpublished is not known, as CSI requires of a repeated call: the driver
   * forgets an inline volume with the first one, and fails the second.
   */
  readonly repeatsUnpublish?: boolean;
}

/** Serves the driver and registers it, like the node-driver-registrar. */
export async function startCsiProxy(plan: CsiProxyPlan): Promise<CsiProxy> {
  const { driverName, driverSocket, socketPath, registrationPath, repeatsUnpublish = false } = plan;
  const calls: CsiCall[] = [];
  const registrations: RegistrationStatus[] = [];
  await using undo = new AsyncDisposableStack();
  const driver = connectGrpc(driverSocket);
  undo.defer(() => driver.close());
  const served = [...methodsOf(IdentityDefinition), ...methodsOf(NodeDefinition)];
  undo.use(
    await serveGrpc(socketPath, served, async ({ name, path, requestType }, bytes) => {
      const request = messageJson(requestType.decode(bytes));
      try {
        const response = await driver.call(path, bytes);
        calls.push({ method: name, request, code: 'OK' });
        return response;
      } catch (error) {
        const { code } = error as { code: number };
        if (repeatsUnpublish && name === 'NodeUnpublishVolume' && code === status.NOT_FOUND) {
          calls.push({ method: name, request, code: 'OK' });
          return Buffer.alloc(0);
        }
        calls.push({ method: name, request, code: status[code] ?? `${code}` });
        throw error;
      }
    }),
  );
  const info = { type: 'CSIPlugin', name: driverName, endpoint: socketPath, supportedVersions: ['1.0.0'] };
  undo.use(
    await serveGrpc(registrationPath, methodsOf(RegistrationDefinition), async ({ name }, bytes) => {
      if (name === 'GetInfo') return Buffer.from(PluginInfo.encode(info).finish());
      registrations.push(RegistrationStatus.decode(bytes));
      return Buffer.alloc(0);
    }),
  );
  undo.defer(() => rmSync(registrationPath, { force: true }));
  const running = undo.move();
  return { calls, registrations, stop: () => running.disposeAsync() };
}
