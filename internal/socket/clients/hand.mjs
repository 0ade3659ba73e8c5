// What check.mjs asks a server whose schema is made by hand for the tests of
// the transports. Another server needs another file like this.
export const subscription = 'subscription { state }'
// What an event carries: the number that was published last, and, where it is
// counted, how many were since everything was seen.
export const read = data => ({ number: data.state })
// The operation that makes everybody see n, and who asks for it.
export const publish = n => `mutation { publish(n: ${n}) }`
// Who reads and who publishes: the payload of connection_init, and headers for
// Server-Sent Events.
export const good = { init: { user: '45' }, headers: { authorization: 'good' } }
export const author = good
export const bad = { init: { fail: 'bad' }, headers: { authorization: 'bad' } }
export const badReason = /this token does not hold/
export const shortLived = () => ({ init: { user: '45', expires: '300ms' } })
