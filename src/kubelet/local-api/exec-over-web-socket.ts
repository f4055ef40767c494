import type { WebSocketConnection } from '../../host/network.ts';
import type { ExecConnection, ExecOutput } from './exec-connection.ts';
import {
  CONNECTION_LOST,
  decodeExecMessage,
  EXEC_PROTOCOL,
  type ExecEnd,
  encodeEndOfStdin,
  encodeResize,
  encodeStdin,
} from './exec-protocol.ts';

export function execOverWebSocket(connection: WebSocketConnection): ExecConnection {
  return {
    receive: (output) => receive(connection, output),
    stdin: (data) => connection.send(encodeStdin(data)),
    endStdin: async () => {
      if (connection.protocol === EXEC_PROTOCOL.v5) await connection.send(encodeEndOfStdin());
    },
    resize: (size) => connection.send(encodeResize(size)),
  };
}

async function receive({ messages }: WebSocketConnection, output: ExecOutput): Promise<ExecEnd> {
  for await (const bytes of messages) {
    const message = decodeExecMessage(bytes);
    if (message.kind === 'stdout') await output.stdout(message.data);
    else if (message.kind === 'stderr') await output.stderr(message.data);
    else if (message.kind === 'end') return message.end;
  }
  return CONNECTION_LOST;
}
