/** The socket of the local API of the agent with this state folder. */
export function localSocket(stateDir: string): string {
  return `${stateDir}/nodelet.sock`;
}
