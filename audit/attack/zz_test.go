package attack
import ("testing";"math/rand/v2";"fmt";"time")
func TestZZ(t *testing.T){
 x:=adult(t,4096); _,n:=x.Dims()
 for _,m:=range []int{46,93,100,110,128,256,1024} {
 for _,sigma:=range []float64{5.657,2,1.5,1,.8,.7,.6,.5} {
  if m<256 && sigma<1.5 {continue}
  rng:=rand.New(rand.NewPCG(1,2))
  p:=plant(rng,gaussian(rng,m,n,sigma),x,false)
  t0:=time.Now()
  r:=attackOn(t,p,Options{})
  fmt.Printf("m %d n %d sigma %.2f wrapped %.3f proved %v solved %.4f recovered %.4f rms %.2e control %.2f rounds %d %v\n",m,n,sigma,p.share,r.Proved,r.Solved,r.RecoveredShare,r.RMS,r.ControlRMS,r.Rounds,time.Since(t0))
 }}
}
