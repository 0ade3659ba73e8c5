// What check.mjs asks a server whose schema is made by hand for the tests of
// the transports. Another server needs another file like this.
export const subscription = 'subscription { state }'
// The number that an event carries.
export const numberOf = data => data.state
// The operation that makes everybody see n.
export const publish = n => `mutation { publish(n: ${n}) }`
// Payloads of connection_init, and headers for Server-Sent Events.
export const good = { init: { user: '45' }, headers: { authorization: 'good' } }
export const bad = { init: { fail: 'bad' }, headers: { authorization: 'bad' } }
export const badReason = /this token does not hold/
export const shortLived = { init: { user: '45', expires: '300ms' } }
